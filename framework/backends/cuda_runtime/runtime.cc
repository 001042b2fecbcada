// SPDX-License-Identifier: Apache-2.0
// Runtime implemented with the CUDA toolkit: exported by the library.
#include "framework/backends/cuda/runtime.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "framework/backends/cuda_runtime/attention.h"
#include "framework/backends/cuda_runtime/compiler.h"
#include "framework/backends/cuda_runtime/conv.h"
#include "framework/backends/cuda_runtime/driver.h"
#include "framework/backends/cuda_runtime/library.h"
#include "framework/backends/cuda_runtime/matmul.h"
#include "framework/backends/cuda_runtime/nccl.h"
#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

std::string key_of(const MatmulSpec& s) {
  return fmt::format("matmul {} {} {} {} {} {} {} {} {} {} {} {} {}", s.dtype, s.int8, s.batch, s.m,
                     s.n, s.k, s.transpose_a, s.transpose_b, s.a_stride, s.b_stride, s.bias, s.relu,
                     s.tf32);
}

std::string key_of(const ConvSpec& s) {
  return fmt::format(
      "conv {} {} x {} filter {} y {} strides {} low {} high {} dilation {} {} {} {} "
      "{} {} {}",
      static_cast<int>(s.direction), s.dtype, s.x, s.filter, s.y, s.strides, s.low, s.high,
      s.dilation, s.groups, s.bias, s.residual, s.relu, s.tf32, s.deterministic);
}

std::string key_of(const AttentionSpec& s) {
  return fmt::format("attention {} {} {} {} {} {} {} {} {} {} bias {} {} {}", s.gradient, s.dtype,
                     s.batch, s.heads, s.key_heads, s.queries, s.keys, s.size, s.scale, s.causal,
                     s.bias_batch, s.bias_heads, s.deterministic);
}

// With CORNU_CUDA_LOG, prints to stderr why a library has no kernel.
void tell(const std::string& key, const std::string& why) {
  static const bool wanted = std::getenv("CORNU_CUDA_LOG") != nullptr;
  if (wanted) std::fputs(fmt::format("no kernel for {}: {}\n", key, why).c_str(), stderr);
}

// State created once per GPU.
class GpuState {
 public:
  explicit GpuState(std::unique_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  Gpu& gpu() { return *gpu_; }

  std::vector<RuntimeFunction*> load(std::span<const KernelCode> codes) {
    compile_missing(codes);
    std::vector<RuntimeFunction*> functions;
    const std::lock_guard lock(functions_mutex_);
    for (const KernelCode& code : codes) functions.push_back(functions_.at(code.name).get());
    return functions;
  }

  // Libraries may need memory to choose a kernel: throws ResourceExhausted if there is none.
  template <class Spec>
  std::shared_ptr<LibraryKernel> prepare(const Spec& spec) {
    const std::string key = key_of(spec);
    const std::lock_guard lock(libraries_mutex_);
    if (const auto it = kernels_.find(key); it != kernels_.end()) return it->second;
    gpu_->use();
    std::string why;
    std::shared_ptr<LibraryKernel> kernel;
    try {
      kernel = make(spec, why);
    } catch (const LibraryError& error) {
      raise<ResourceExhausted>("There is no memory on the GPU to choose a kernel. {}",
                               error.what());
    }
    if (!kernel) tell(key, why);
    if (kernels_.size() >= kMaxKernels) kernels_.clear();
    kernels_.emplace(key, kernel);
    return kernel;
  }

  // Held during graph capture: cuBLASLt mustn't choose kernels meanwhile, even on other streams.
  std::mutex& libraries_mutex() { return libraries_mutex_; }
  bool uses_cudnn() {
    const std::lock_guard lock(libraries_mutex_);
    return cudnn_ != nullptr;
  }

 private:
  static constexpr size_t kMaxKernels = 4096;

  void compile_missing(std::span<const KernelCode> codes) {
    std::vector<const KernelCode*> missing;
    {
      const std::lock_guard lock(functions_mutex_);
      for (const KernelCode& code : codes) {
        const auto same = [&](const KernelCode* one) { return one->name == code.name; };
        if (!functions_.contains(code.name) && std::ranges::none_of(missing, same)) {
          missing.push_back(&code);
        }
      }
    }
    if (missing.empty()) return;
    const GpuFacts& facts = gpu_->facts();
    const auto images = compile_all(missing, facts.major, facts.minor);
    const std::lock_guard lock(functions_mutex_);
    for (size_t i = 0; i < missing.size(); ++i) {
      auto& function = functions_[missing[i]->name];
      if (!function) {
        function = std::make_unique<RuntimeFunction>(*gpu_, missing[i]->name, images[i]);
      }
    }
  }

  std::shared_ptr<LibraryKernel> make(const MatmulSpec& spec, std::string& why) {
    if (blas_ == nullptr) {
      const cublasStatus_t status = cublasLtCreate(&blas_);
      check<Internal>(status == CUBLAS_STATUS_SUCCESS, "cuBLASLt doesn't start: {}",
                      describe(status));
    }
    return make_matmul(blas_, spec, why);
  }
  std::shared_ptr<LibraryKernel> make(const ConvSpec& spec, std::string& why) {
    return make_conv(target(), spec, why);
  }
  std::shared_ptr<LibraryKernel> make(const AttentionSpec& spec, std::string& why) {
    return make_attention(target(), spec, why);
  }

  CudnnTarget target() {
    if (cudnn_ == nullptr) {
      const cudnnStatus_t status = cudnnCreate(&cudnn_);
      check<Internal>(status == CUDNN_STATUS_SUCCESS, "cuDNN doesn't start: {}",
                      cudnnGetErrorString(status));
    }
    return {.handle = cudnn_, .major = gpu_->facts().major};
  }

  std::unique_ptr<Gpu> gpu_;
  std::mutex functions_mutex_;
  std::unordered_map<std::string, std::unique_ptr<RuntimeFunction>> functions_;
  std::mutex libraries_mutex_;
  cublasLtHandle_t blas_ = nullptr;
  cudnnHandle_t cudnn_ = nullptr;  // for plans; streams have their own
  std::unordered_map<std::string, std::shared_ptr<LibraryKernel>> kernels_;
};

class CudaRuntime : public Runtime {
 public:
  CudaRuntime() {
    for (auto& gpu : find_gpus()) gpus_.push_back(std::make_unique<GpuState>(std::move(gpu)));
    load_compiler();
    load_blas();
    load_cudnn();
  }

  int gpu_count() const override { return static_cast<int>(gpus_.size()); }
  GpuFacts facts(int gpu) const override { return gpu_at(gpu).facts(); }
  std::vector<std::string> versions() const override;

  void* allocate(int gpu, size_t bytes) override {
    gpu_at(gpu).use();
    CUdeviceptr memory = 0;
    const CUresult result = cuMemAlloc(&memory, std::max<size_t>(bytes, 1));
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
    check_cuda(result, "taking memory of a GPU");
    return reinterpret_cast<void*>(memory);
  }
  void free(int gpu, void* memory) override {
    if (memory == nullptr) return;
    gpu_at(gpu).use();
    check_cuda(cuMemFree(address(memory)), "giving back memory of a GPU");
  }
  size_t free_bytes(int gpu) const override {
    gpu_at(gpu).use();
    size_t available = 0;
    size_t total = 0;
    check_cuda(cuMemGetInfo(&available, &total), "asking for a GPU's memory");
    return available;
  }
  void* allocate_pinned(size_t bytes) override {
    gpu_in_use().use();
    void* memory = nullptr;
    const CUresult result =
        cuMemHostAlloc(&memory, std::max<size_t>(bytes, 1), CU_MEMHOSTALLOC_PORTABLE);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
    check_cuda(result, "taking page-locked memory");
    return memory;
  }
  void free_pinned(void* memory) override {
    if (memory == nullptr) return;
    gpu_in_use().use();
    check_cuda(cuMemFreeHost(memory), "giving back page-locked memory");
  }

  RuntimeStream* make_stream(int gpu) override {
    auto stream = std::make_unique<RuntimeStream>(gpu_at(gpu));
    const std::lock_guard lock(mutex_);
    return streams_.emplace_back(std::move(stream)).get();
  }
  std::shared_ptr<RuntimeEvent> record(RuntimeStream* stream) override {
    stream->gpu().use();
    auto event = std::make_shared<RuntimeEvent>(*stream);
    stream->check(cuEventRecord(event->handle(), stream->handle()), "recording an event");
    return event;
  }
  void wait(RuntimeStream* stream, const RuntimeEvent& event) override {
    stream->gpu().use();
    stream->check(cuStreamWaitEvent(stream->handle(), event.handle(), CU_EVENT_WAIT_DEFAULT),
                  "waiting for another stream");
  }
  bool is_done(const RuntimeEvent& event) override {
    event.gpu().use();
    const CUresult result = cuEventQuery(event.handle());
    if (result == CUDA_ERROR_NOT_READY) return false;
    event.check(result, "asking whether work is done");
    return true;
  }
  void synchronize(const RuntimeEvent& event) override {
    event.gpu().use();
    event.check(cuEventSynchronize(event.handle()), "waiting for the GPU");
  }
  void synchronize(RuntimeStream* stream) override {
    stream->gpu().use();
    stream->check(cuStreamSynchronize(stream->handle()), "waiting for the GPU");
  }

  void copy_to_gpu(RuntimeStream* stream, void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    stream->gpu().use();
    stream->check(cuMemcpyHtoDAsync(address(to), from, bytes, stream->handle()),
                  "copying to the GPU");
  }
  void copy_to_host(RuntimeStream* stream, void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    stream->gpu().use();
    stream->check(cuMemcpyDtoHAsync(to, address(from), bytes, stream->handle()),
                  "copying from the GPU");
  }
  void copy(RuntimeStream* stream, void* to, const void* from, size_t bytes) override {
    if (bytes == 0) return;
    stream->gpu().use();
    stream->check(cuMemcpyAsync(address(to), address(from), bytes, stream->handle()),
                  "copying within the GPU");
  }
  void fill(RuntimeStream* stream, void* memory, int byte, size_t bytes) override {
    if (bytes == 0) return;
    stream->gpu().use();
    stream->check(
        cuMemsetD8Async(address(memory), static_cast<unsigned char>(byte), bytes, stream->handle()),
        "filling memory");
  }

  std::vector<RuntimeFunction*> load(int gpu, std::span<const KernelCode> codes) override {
    return state(gpu).load(codes);
  }
  void launch(RuntimeStream* stream, RuntimeFunction* function, Dim3 grid, Dim3 block,
              uint32_t shared_bytes, std::span<const uint64_t> words) override {
    function->launch(*stream, grid, block, shared_bytes, words);
  }

  std::shared_ptr<LibraryKernel> prepare(int gpu, const MatmulSpec& spec) override {
    return state(gpu).prepare(spec);
  }
  std::shared_ptr<LibraryKernel> prepare(int gpu, const ConvSpec& spec) override {
    return state(gpu).prepare(spec);
  }
  std::shared_ptr<LibraryKernel> prepare(int gpu, const AttentionSpec& spec) override {
    return state(gpu).prepare(spec);
  }
  void run(RuntimeStream* stream, LibraryKernel& kernel, std::span<void* const> operands,
           void* workspace) override;

  void begin_capture(RuntimeStream* stream) override {
    stream->gpu().use();
    // Done now, as it waits for the GPU.
    if (state(stream->gpu().number()).uses_cudnn()) {
      guarded(*stream, [&] { cudnn_handle(*stream); });
    }
    stream->broken = false;
    std::unique_lock none_chosen(state(stream->gpu().number()).libraries_mutex());
    // Relaxed: memory may be allocated meanwhile, and other streams' events queried.
    stream->check(cuStreamBeginCapture(stream->handle(), CU_STREAM_CAPTURE_MODE_RELAXED),
                  "beginning to capture a graph");
    stream->capturing = std::move(none_chosen);
  }
  std::shared_ptr<RuntimeGraph> end_capture(RuntimeStream* stream) override {
    const std::unique_lock none_chosen =
        std::move(stream->capturing);  // held until here, whatever fails
    stream->gpu().use();
    CUgraph graph = nullptr;
    const CUresult result = cuStreamEndCapture(stream->handle(), &graph);
    if (result != CUDA_SUCCESS || stream->broken || graph == nullptr) {
      if (graph != nullptr) cuGraphDestroy(graph);
      return nullptr;
    }
    return std::make_shared<RuntimeGraph>(stream->gpu(), graph);
  }
  void launch(RuntimeStream* stream, RuntimeGraph& graph) override {
    stream->gpu().use();
    stream->note("a captured graph");
    stream->check(cuGraphLaunch(graph.handle(), stream->handle()), "launching a graph");
  }

  std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(
      std::span<const int> gpus) override {
    return make_nccl(gpus_at(gpus));
  }
  std::vector<std::byte> collectives_id() override { return make_nccl_id(); }
  std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(
      std::span<const int> gpus, int first, int size, std::span<const std::byte> id,
      const std::function<void()>& look) override {
    return make_nccl(gpus_at(gpus), first, size, id, look);
  }
  std::string collectives_version() override { return nccl_version(); }

 private:
  GpuState& state(int gpu) const {
    check<Internal>(gpu >= 0 && gpu < gpu_count(), "There is no GPU {} among {}.", gpu,
                    gpu_count());
    return *gpus_[static_cast<size_t>(gpu)];
  }
  Gpu& gpu_at(int gpu) const { return state(gpu).gpu(); }
  std::vector<Gpu*> gpus_at(std::span<const int> gpus) const {
    std::vector<Gpu*> own;
    for (const int gpu : gpus) own.push_back(&gpu_at(gpu));
    return own;
  }
  // A GPU whose context exists, if there is one: each context takes GPU memory.
  Gpu& gpu_in_use() const {
    const auto used =
        std::ranges::find_if(gpus_, [](const auto& one) { return one->gpu().is_open(); });
    return used == gpus_.end() ? gpu_at(0) : (*used)->gpu();
  }
  // Converts library errors to Cornu's.
  template <class Run>
  static void guarded(RuntimeStream& stream, const Run& run) {
    try {
      run();
    } catch (const LibraryError& error) {
      stream.broken = true;
      check<ResourceExhausted>(!error.is_out_of_memory(), "{}{}. Use smaller batches.",
                               error.what(), stream.place());
      // The error may be due to an earlier fault.
      const CUresult state = stream.is_capturing() ? CUDA_SUCCESS : cuStreamQuery(stream.handle());
      const bool sound = state == CUDA_SUCCESS || state == CUDA_ERROR_NOT_READY;
      raise<Internal>("{}{}{}", error.what(), stream.place(),
                      sound ? "" : "; the stream's state: " + describe(state));
    }
  }

  std::vector<std::unique_ptr<GpuState>> gpus_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<RuntimeStream>> streams_;
};

std::vector<std::string> CudaRuntime::versions() const {
  int driver = 0;
  check_cuda(cuDriverGetVersion(&driver), "asking for the driver's version");
  int blas[3] = {};
  for (int i = 0; i < 3; ++i) cublasLtGetProperty(static_cast<libraryPropertyType>(i), &blas[i]);
  const size_t cudnn = cudnnGetVersion();
  return {"NVIDIA driver for CUDA " + version_text(driver), compiler_version(),
          fmt::format("cuBLASLt {}.{}.{}", blas[0], blas[1], blas[2]),
          fmt::format("cuDNN {}.{}.{}", cudnn / 10000, cudnn / 100 % 100, cudnn % 100),
          nccl_version_text()};
}

void CudaRuntime::run(RuntimeStream* stream, LibraryKernel& kernel, std::span<void* const> operands,
                      void* workspace) {
  auto& own = static_cast<LibraryKernelBase&>(kernel);
  stream->gpu().use();
  stream->note(own.label());
  guarded(*stream, [&] { own.run(*stream, operands, workspace); });
}

// Never destroyed: CUDA itself may be gone before static objects are.
CudaRuntime* the_runtime() {
  static auto* runtime = new CudaRuntime;
  return runtime;
}

}  // namespace
}  // namespace cornu::cuda

extern "C" __attribute__((visibility("default"))) cornu::cuda::Runtime* cornu_cuda_runtime(
    int version, std::string& error) {
  namespace cuda = cornu::cuda;
  try {
    cornu::check<cornu::FailedPrecondition>(
        version == cuda::kRuntimeVersion,
        "libcornu_cuda has version {} of its interface, Cornu needs {}. Install both from one "
        "build.",
        cuda::kRuntimeVersion, version);
    return cuda::the_runtime();
  } catch (const std::exception& failure) {
    error = failure.what();
    return nullptr;
  }
}
