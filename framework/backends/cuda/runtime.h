// SPDX-License-Identifier: Apache-2.0
// What the CUDA backend needs of a machine with GPUs: memory, streams, code, and the libraries'
// kernels. The library `cornu_cuda` implements it with the CUDA toolkit, tests with a simulator.
#pragma once

#include <array>
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
  std::string uuid;  // no other GPU has it, on any machine
};

// CUDA source of one kernel. `text` defines `extern "C" __global__ void name(...)`, whose
// parameters have 8 bytes each (pointers, i64, f64) or are structs of such, on top of prelude.cu.
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
  bool int8 = false;             // but of a and b, which are int8, where dtype is int32
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_a = false;  // a is stored as (k, m)
  bool transpose_b = false;  // b is stored as (n, k)
  int64_t a_stride = 0;      // elements from one matrix of the batch to the next; 0: the same one
  int64_t b_stride = 0;
  bool bias = false;
  bool relu = false;  // needs bias
  bool tf32 = false;  // float32 operands may be rounded to TensorFloat-32
  friend bool operator==(const MatmulSpec&, const MatmulSpec&) = default;
};

// A convolution over 1 to 3 spatial axes of channels-last arrays, or its gradients. Operands:
//   Forward: x, filter, y, [bias: (filters)], [residual: as y]; InputGradient: dy, filter, dx;
//   FilterGradient: x, dy, dfilter.
// Filters lie as (filters, spatial..., channels / groups).
struct ConvSpec {
  enum class Direction : uint8_t { Forward, InputGradient, FilterGradient };
  Direction direction = Direction::Forward;
  DType dtype = DType::Float32;
  std::vector<int64_t> x;       // (batch, spatial..., channels)
  std::vector<int64_t> filter;  // (filters, spatial..., channels / groups)
  std::vector<int64_t> y;       // (batch, spatial..., filters)
  std::vector<int64_t> strides;
  std::vector<int64_t> low;   // padding before each axis
  std::vector<int64_t> high;  // and after it
  std::vector<int64_t> dilation;
  int64_t groups = 1;
  bool bias = false;
  bool residual = false;
  bool relu = false;
  bool tf32 = false;
  bool deterministic = true;  // the same bits, always
  friend bool operator==(const ConvSpec&, const ConvSpec&) = default;
};

// Scaled dot-product attention. Operands, forward: query, key, value, output, statistics;
// gradient: query, key, value, output, statistics, dy, dquery, dkey, dvalue; then the bias, if any,
// which is added to scaled scores. Arrays lie as (batch, length, heads, size) and statistics,
// float32, as (batch, heads, length): logarithms of the sums of exponentials. The bias, of `dtype`,
// is (bias_batch, bias_heads, queries, keys), with rows a multiple of kBiasUnit elements apart.
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

// A library's kernel, chosen for one spec. Several threads and streams may run it at once, each
// with its own workspace.
class LibraryKernel {
 public:
  virtual ~LibraryKernel() = default;
  virtual size_t workspace_bytes() const = 0;
  virtual std::string describe() const = 0;  // for profiles: the algorithm that was chosen
};

class RuntimeStream;    // a stream of one GPU
class RuntimeEvent;     // a point in a stream
class RuntimeFunction;  // a kernel that is loaded
class RuntimeGraph;     // a sequence of launches, captured

// All addresses are of a GPU's memory, unless said otherwise. Launches and copies are asynchronous
// and ordered by their stream. Thread-safe, but for a stream, which one thread uses at a time.
// Errors: ResourceExhausted for memory; Internal for faults, naming what the library said.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual int gpu_count() const = 0;
  virtual GpuFacts facts(int gpu) const = 0;
  // Versions of the driver and of the libraries, a line each: "cuDNN 9.13.0".
  virtual std::vector<std::string> versions() const = 0;

  // Null when there is none left.
  virtual void* allocate(int gpu, size_t bytes) = 0;
  // Waits for nothing: the memory must not be in use.
  virtual void free(int gpu, void* memory) = 0;
  virtual size_t free_bytes(int gpu) const = 0;
  // Page-locked host memory, which every GPU can write too. Null when there is none.
  virtual void* allocate_pinned(size_t bytes) = 0;
  virtual void free_pinned(void* memory) = 0;

  virtual RuntimeStream* make_stream(int gpu) = 0;  // lives as long as the process
  virtual std::shared_ptr<RuntimeEvent> record(RuntimeStream* stream) = 0;
  virtual void wait(RuntimeStream* stream, const RuntimeEvent& event) = 0;
  virtual bool is_done(const RuntimeEvent& event) = 0;
  virtual void synchronize(const RuntimeEvent& event) = 0;
  virtual void synchronize(RuntimeStream* stream) = 0;

  // `from` is host memory, which may be changed as soon as this returns unless it is pinned.
  virtual void copy_to_gpu(RuntimeStream* stream, void* to, const void* from, size_t bytes) = 0;
  // `to` is host memory; done when the stream has been synchronized.
  virtual void copy_to_host(RuntimeStream* stream, void* to, const void* from, size_t bytes) = 0;
  // Within a GPU, or from another one.
  virtual void copy(RuntimeStream* stream, void* to, const void* from, size_t bytes) = 0;
  virtual void fill(RuntimeStream* stream, void* memory, int byte, size_t bytes) = 0;

  // Compiles and loads kernels, those that it doesn't have yet. They live as long as the process.
  virtual std::vector<RuntimeFunction*> load(int gpu, std::span<const KernelCode> codes) = 0;
  // `words`: the kernel's parameters, one after another.
  virtual void launch(RuntimeStream* stream, RuntimeFunction* function, Dim3 grid, Dim3 block,
                      uint32_t shared_bytes, std::span<const uint64_t> words) = 0;

  // Null where no library has it.
  virtual std::shared_ptr<LibraryKernel> prepare(int gpu, const MatmulSpec& spec) = 0;
  virtual std::shared_ptr<LibraryKernel> prepare(int gpu, const ConvSpec& spec) = 0;
  virtual std::shared_ptr<LibraryKernel> prepare(int gpu, const AttentionSpec& spec) = 0;
  virtual void run(RuntimeStream* stream, LibraryKernel& kernel, std::span<void* const> operands,
                   void* workspace) = 0;

  // What is launched on the stream in between isn't run, but becomes a graph. An error in between
  // must be followed by end_capture, too, whose result is then null.
  virtual void begin_capture(RuntimeStream* stream) = 0;
  virtual std::shared_ptr<RuntimeGraph> end_capture(RuntimeStream* stream) = 0;
  virtual void launch(RuntimeStream* stream, RuntimeGraph& graph) = 0;

  // Groups of GPUs that communicate. Of this process's: a rank for each of `gpus`, in their order.
  virtual std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(
      [[maybe_unused]] std::span<const int> gpus) {
    raise<Unimplemented>("This runtime has no communication between GPUs.");
  }
  // Of several processes': one of them makes an id, which all are given. `gpus` of this one have
  // the ranks from `first` on, among `size`. Waits for the others, and calls `look` meanwhile,
  // which throws to give up.
  virtual std::vector<std::byte> collectives_id() {
    raise<Unimplemented>("This runtime has no communication between GPUs.");
  }
  virtual std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(
      [[maybe_unused]] std::span<const int> gpus, [[maybe_unused]] int first,
      [[maybe_unused]] int size, [[maybe_unused]] std::span<const std::byte> id,
      [[maybe_unused]] const std::function<void()>& look) {
    raise<Unimplemented>("This runtime has no communication between GPUs.");
  }
  // What communicates between GPUs, with its version, which all processes must have alike: "NCCL
  // 2.28.9". FailedPrecondition where it can't be loaded.
  virtual std::string collectives_version() {
    raise<Unimplemented>("This runtime has no communication between GPUs.");
  }
};

// What the library exports as `cornu_cuda_runtime`: null, and why in `error`, when there is no GPU
// that it could use. `version` must be kRuntimeVersion.
using MakeRuntime = Runtime* (*)(int version, std::string& error);
inline constexpr int kRuntimeVersion = 7;

}  // namespace cornu::cuda
