// SPDX-License-Identifier: Apache-2.0
// The CUDA driver: errors as text, GPUs with their contexts, and stream-related objects.
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

// A library's refusal. When looking for a kernel, it means that there is none; when running one, it
// is a fault.
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

// Throws ResourceExhausted when out of memory, otherwise Internal. `doing`: "copying to the GPU".
inline void check_cuda(CUresult result, std::string_view doing) {
  if (result != CUDA_SUCCESS) [[unlikely]] {
    raise_cuda(result, doing);
  }
}

// A usable GPU with its primary context, which is shared with other libraries of the process.
class Gpu {
 public:
  Gpu(int number, CUdevice device);

  int number() const { return number_; }
  const GpuFacts& facts() const { return facts_; }

  // Makes its context current on this thread. The context is created by the first call.
  void use();
  bool is_open() const { return context_.load(std::memory_order_acquire) != nullptr; }

  // Maximum shared memory of a block, if its function requests it.
  int most_shared_bytes() const;

  // A pool of events that aren't in use.
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

// Finds devices of compute capability 8.0 or higher. Throws FailedPrecondition, with a message for
// users, when there is no driver, the driver is too old, or there is no such device.
std::vector<std::unique_ptr<Gpu>> find_gpus();

class RuntimeStream {
 public:
  explicit RuntimeStream(Gpu& gpu);

  Gpu& gpu() const { return gpu_; }
  CUstream handle() const { return handle_; }

  // Records the name of the next launch for error messages, as CUDA reports errors some launches
  // later.
  void note(std::string_view name);
  // The GPU and its last launches, for error messages.
  std::string place() const;

  void check(CUresult result, std::string_view doing) {
    if (result != CUDA_SUCCESS) [[unlikely]] {
      fail(result, doing);
    }
  }

  // Held while a graph is captured.
  std::unique_lock<std::mutex> capturing;
  bool is_capturing() const { return capturing.owns_lock(); }
  // Whether an error has occurred since the capture began.
  bool broken = false;
  // What libraries keep per stream: a cuDNN handle.
  std::shared_ptr<void> library;

 private:
  [[noreturn]] void fail(CUresult result, std::string_view doing);

  Gpu& gpu_;
  CUstream handle_ = nullptr;
  mutable std::mutex names_mutex_;  // other threads query what the stream did through events
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
  // `image`: the module's machine code or PTX.
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
  size_t words_ = 0;                        // of all parameters
  std::atomic<uint32_t> shared_bytes_ = 0;  // dynamic shared memory that a launch may request
};

class RuntimeGraph {
 public:
  // Takes ownership of a captured graph.
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
