// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend requires of a machine with GPUs: memory, streams, code, and library
// kernels. Implemented by the library `cornu_cuda` with the CUDA toolkit, and by a simulator in
// tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/backends/cuda/device_collectives.h"
#include "framework/core/dtype.h"
#include "framework/core/error.h"

namespace cornu::cuda {

struct GpuFacts {
  std::string name;  // "NVIDIA H200"
  int major = 0;     // compute capability
  int minor = 0;
  size_t memory_bytes = 0;
  int multiprocessors = 0;
  std::string uuid;  // globally unique
};

// CUDA source of one kernel. `text` defines `extern "C" __global__ void name(...)`, on top of
// prelude.cu; each parameter is 8 bytes wide (pointer, i64, f64) or a struct of such fields.
struct KernelCode {
  std::string name;
  std::string text;
};

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

// A product of row-major matrices for each of `batch` pairs: out = act(op(a) op(b) + bias), where
// op(a) is (m, k) and op(b) is (k, n). Operands: a, b, out, [bias: (n)].
struct MatmulSpec {
  DType dtype = DType::Float32;  // of all operands
  bool int8 = false;             // a and b are int8, and dtype is int32
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_a = false;  // a is stored as (k, m)
  bool transpose_b = false;  // b is stored as (n, k)
  int64_t a_stride = 0;  // elements between consecutive matrices of the batch; 0: the same matrix
  int64_t b_stride = 0;
  bool bias = false;
  bool relu = false;  // requires bias
  bool tf32 = false;  // float32 operands may be rounded to TensorFloat-32
  // Tensor cores multiply int8 if a isn't transposed, b is, and sizes are multiples of 4.
  bool has_int8_form() const {
    return int8 && dtype == DType::Int32 && !transpose_a && transpose_b && !bias && k % 4 == 0 &&
           n % 4 == 0;
  }
  friend bool operator==(const MatmulSpec&, const MatmulSpec&) = default;
};

// A convolution over 1 to 3 spatial axes of channels-last arrays, or its gradients. Operands:
//   Forward: x, filter, y, [bias: (filters)], [residual: as y]; InputGradient: dy, filter, dx;
//   FilterGradient: x, dy, dfilter.
// Filters are stored as (filters, spatial..., channels / groups).
struct ConvSpec {
  enum class Direction : uint8_t { Forward, InputGradient, FilterGradient };
  Direction direction = Direction::Forward;
  DType dtype = DType::Float32;
  std::vector<int64_t> x;       // (batch, spatial..., channels)
  std::vector<int64_t> filter;  // (filters, spatial..., channels / groups)
  std::vector<int64_t> y;       // (batch, spatial..., filters)
  std::vector<int64_t> strides;
  std::vector<int64_t> low;   // padding before each axis
  std::vector<int64_t> high;  // padding after each axis
  std::vector<int64_t> dilation;
  int64_t groups = 1;
  bool bias = false;
  bool residual = false;
  bool relu = false;
  bool tf32 = false;
  bool deterministic = true;  // always the same bits
  friend bool operator==(const ConvSpec&, const ConvSpec&) = default;
};

// Scaled dot-product attention. Operands, forward: query, key, value, output, statistics; gradient:
// query, key, value, output, statistics, dy, dquery, dkey, dvalue; then the bias, if any, which is
// added to scaled scores. Arrays are stored as (batch, length, heads, size), and statistics as
// float32 (batch, heads, length): logarithms of the sums of exponentials. The bias, of `dtype`, is
// (bias_batch, bias_heads, queries, keys), with a row stride that is a multiple of kBiasUnit
// elements.
struct AttentionSpec {
  bool gradient = false;
  DType dtype = DType::BFloat16;  // or Float16
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t key_heads = 0;  // divides heads
  int64_t queries = 0;    // length
  int64_t keys = 0;
  int64_t size = 0;  // of a head
  double scale = 1;
  bool causal = false;
  int64_t bias_batch = 0;  // 1 or batch; 0: there is none
  int64_t bias_heads = 0;  // 1 or heads
  static constexpr int64_t kBiasUnit = 8;
  int64_t bias_stride() const { return (keys + kBiasUnit - 1) / kBiasUnit * kBiasUnit; }
  bool deterministic = true;
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

// A library's kernel, chosen for one spec. May be run concurrently on several threads and streams,
// each with its own workspace.
class LibraryKernel {
 public:
  virtual ~LibraryKernel() = default;
  virtual size_t workspace_bytes() const = 0;
  virtual std::string describe() const = 0;  // for profiles: the chosen algorithm
};

class RuntimeStream;    // a stream of one GPU
class RuntimeEvent;     // a point in a stream
class RuntimeFunction;  // a loaded kernel
class RuntimeGraph;     // a captured sequence of launches

// All addresses are in GPU memory unless stated otherwise. Launches and copies are asynchronous,
// ordered by their stream. Thread-safe, except that a stream may be used by one thread at a time.
// Throws ResourceExhausted when out of memory, and Internal for faults, with the library's message.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual int gpu_count() const = 0;
  virtual GpuFacts facts(int gpu) const = 0;
  // Versions of the driver and the libraries, one line each: "cuDNN 9.13.0".
  virtual std::vector<std::string> versions() const = 0;

  // Returns null when there is no memory left.
  virtual void* allocate(int gpu, size_t bytes) = 0;
  // Doesn't wait: the memory must not be in use.
  virtual void free(int gpu, void* memory) = 0;
  virtual size_t free_bytes(int gpu) const = 0;
  // Page-locked host memory, which every GPU can also write. Returns null when there is none.
  virtual void* allocate_pinned(size_t bytes) = 0;
  virtual void free_pinned(void* memory) = 0;

  virtual RuntimeStream* make_stream(int gpu) = 0;  // lives as long as the process
  virtual std::shared_ptr<RuntimeEvent> record(RuntimeStream* stream) = 0;
  virtual void wait(RuntimeStream* stream, const RuntimeEvent& event) = 0;
  virtual bool is_done(const RuntimeEvent& event) = 0;
  virtual void synchronize(const RuntimeEvent& event) = 0;
  virtual void synchronize(RuntimeStream* stream) = 0;

  // `from` is host memory. Unless it is pinned, it may be changed as soon as this returns.
  virtual void copy_to_gpu(RuntimeStream* stream, void* to, const void* from, size_t bytes) = 0;
  // `to` is host memory; done when the stream has been synchronized.
  virtual void copy_to_host(RuntimeStream* stream, void* to, const void* from, size_t bytes) = 0;
  // Copies within a GPU, or from another one.
  virtual void copy(RuntimeStream* stream, void* to, const void* from, size_t bytes) = 0;
  virtual void fill(RuntimeStream* stream, void* memory, int byte, size_t bytes) = 0;

  // Compiles and loads kernels that aren't loaded yet. They live as long as the process.
  virtual std::vector<RuntimeFunction*> load(int gpu, std::span<const KernelCode> codes) = 0;
  // `words`: the kernel's parameters, one after another.
  virtual void launch(RuntimeStream* stream, RuntimeFunction* function, Dim3 grid, Dim3 block,
                      uint32_t shared_bytes, std::span<const uint64_t> words) = 0;

  // Returns null when no library supports the spec.
  virtual std::shared_ptr<LibraryKernel> prepare(int gpu, const MatmulSpec& spec) = 0;
  virtual std::shared_ptr<LibraryKernel> prepare(int gpu, const ConvSpec& spec) = 0;
  virtual std::shared_ptr<LibraryKernel> prepare(int gpu, const AttentionSpec& spec) = 0;
  virtual void run(RuntimeStream* stream, LibraryKernel& kernel, std::span<void* const> operands,
                   void* workspace) = 0;

  // Launches on the stream in between aren't executed, but recorded into a graph. end_capture must
  // also be called after an error in between; it then returns null.
  virtual void begin_capture(RuntimeStream* stream) = 0;
  virtual std::shared_ptr<RuntimeGraph> end_capture(RuntimeStream* stream) = 0;
  virtual void launch(RuntimeStream* stream, RuntimeGraph& graph) = 0;

  // Makes a group of this process's GPUs that communicate: one rank for each of `gpus`, in order.
  virtual std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(
      [[maybe_unused]] std::span<const int> gpus) {
    raise<Unimplemented>("This runtime has no communication between GPUs.");
  }
  // For groups that span several processes: one of them makes an ID, which is given to all. The
  // `gpus` of this process have the ranks starting at `first`, out of `size`. Waits for the other
  // processes, and calls `look` meanwhile, which throws to give up.
  virtual std::vector<std::byte> collectives_id() {
    raise<Unimplemented>("This runtime has no communication between GPUs.");
  }
  virtual std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(
      [[maybe_unused]] std::span<const int> gpus, [[maybe_unused]] int first,
      [[maybe_unused]] int size, [[maybe_unused]] std::span<const std::byte> id,
      [[maybe_unused]] const std::function<void()>& look) {
    raise<Unimplemented>("This runtime has no communication between GPUs.");
  }
  // The library for communication between GPUs, with its version, which must be the same in all
  // processes: "NCCL 2.28.9". Throws FailedPrecondition when it can't be loaded.
  virtual std::string collectives_version() {
    raise<Unimplemented>("This runtime has no communication between GPUs.");
  }
};

// Exported by the library as `cornu_cuda_runtime`. Returns null, and the reason in `error`, when
// there is no usable GPU. `version` must be kRuntimeVersion.
using MakeRuntime = Runtime* (*)(int version, std::string& error);
inline constexpr int kRuntimeVersion = 7;

}  // namespace cornu::cuda
