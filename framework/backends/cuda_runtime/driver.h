// SPDX-License-Identifier: Apache-2.0
// The CUDA driver: its errors as text, GPUs with their contexts, and what belongs to streams.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/backends/cuda/runtime.h"
#include "framework/backends/cuda_runtime/toolkit.h"
#include "framework/core/error.h"

namespace cornu::cuda {

// What a library said no to. Where a kernel is looked for, that means that it has none; where one
// runs, it is a fault.
class LibraryError : public std::exception {
 public:
  explicit LibraryError(std::string text, bool out_of_memory = false)
      : text_(std::move(text)), out_of_memory_(out_of_memory) {}
  const char* what() const noexcept override { return text_.c_str(); }
  bool is_out_of_memory() const { return out_of_memory_; }

 private:
  std::string text_;
  bool out_of_memory_;
};

// "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
std::string describe(CUresult result);

[[noreturn]] void raise_cuda(CUresult result, std::string_view doing, std::string_view where = {});

// ResourceExhausted when memory is short, else Internal. `doing`: "copying to the GPU".
inline void check_cuda(CUresult result, std::string_view doing) {
  if (result != CUDA_SUCCESS) [[unlikely]] {
    raise_cuda(result, doing);
  }
}

// A GPU that can be used, with its primary context, which other libraries of the process share.
class Gpu {
 public:
  Gpu(int number, CUdevice device);

  int number() const { return number_; }
  const GpuFacts& facts() const { return facts_; }

  // Makes its context that of this thread. The context is created when this is called first.
  void use();
  bool is_open() const { return context_.load(std::memory_order_acquire) != nullptr; }

  // Shared memory that a block may have, when its function asks for it.
  int most_shared_bytes() const;

  // Events that nobody records at present.
  CUevent take_event();
  void give_event(CUevent event);

 private:
  void open();

  int number_;
  CUdevice device_;
  GpuFacts facts_;
  std::once_flag opened_;
  std::atomic<CUcontext> context_ = nullptr;
  std::mutex mutex_;
  std::vector<CUevent> events_;
};

// Devices of compute capability 8.0 or more. Throws FailedPrecondition, for users, when there is no
// driver, one that is too old, or no such device.
std::vector<std::unique_ptr<Gpu>> find_gpus();

class RuntimeStream {
 public:
  explicit RuntimeStream(Gpu& gpu);

  Gpu& gpu() const { return gpu_; }
  CUstream handle() const { return handle_; }

  // Notes what is launched next, for errors, which CUDA tells of some launches later.
  void note(std::string_view name);
  // The GPU and what was launched last, for errors.
  std::string place() const;

  void check(CUresult result, std::string_view doing) {
    if (result != CUDA_SUCCESS) [[unlikely]] {
      fail(result, doing);
    }
  }

  // Held while a graph is captured.
  std::unique_lock<std::mutex> capturing;
  bool is_capturing() const { return capturing.owns_lock(); }
  // Something went wrong since the capture began.
  bool broken = false;
  // What libraries keep for a stream: a cuDNN handle.
  std::shared_ptr<void> library;

 private:
  [[noreturn]] void fail(CUresult result, std::string_view doing);

  Gpu& gpu_;
  CUstream handle_ = nullptr;
  mutable std::mutex names_mutex_;  // other threads ask events for what the stream did
  std::array<std::string, 6> names_;
  size_t launches_ = 0;
};

class RuntimeEvent {
 public:
  explicit RuntimeEvent(RuntimeStream& stream);
  RuntimeEvent(const RuntimeEvent&) = delete;
  RuntimeEvent& operator=(const RuntimeEvent&) = delete;
  ~RuntimeEvent();

  CUevent handle() const { return handle_; }
  Gpu& gpu() const { return stream_.gpu(); }
  void check(CUresult result, std::string_view doing) const;

 private:
  RuntimeStream& stream_;
  CUevent handle_;
};

class RuntimeFunction {
 public:
  // Of a module's image: machine code, or PTX.
  RuntimeFunction(Gpu& gpu, const std::string& name, const std::vector<char>& image);

  const std::string& name() const { return name_; }
  Gpu& gpu() const { return gpu_; }
  void launch(RuntimeStream& stream, Dim3 grid, Dim3 block, uint32_t shared_bytes,
              std::span<const uint64_t> words);

 private:
  void allow_shared();

  Gpu& gpu_;
  std::string name_;
  CUfunction handle_ = nullptr;
  std::vector<size_t> places_;              // of its parameters, in words
  size_t words_ = 0;                        // of all
  std::atomic<uint32_t> shared_bytes_ = 0;  // of dynamic shared memory that a launch may ask for
};

class RuntimeGraph {
 public:
  // Takes a graph that was captured.
  RuntimeGraph(Gpu& gpu, CUgraph graph);
  RuntimeGraph(const RuntimeGraph&) = delete;
  RuntimeGraph& operator=(const RuntimeGraph&) = delete;
  ~RuntimeGraph();

  CUgraphExec handle() const { return handle_; }
  Gpu& gpu() const { return gpu_; }

 private:
  Gpu& gpu_;
  CUgraphExec handle_ = nullptr;
};

}  // namespace cornu::cuda
