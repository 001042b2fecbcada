// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/driver.h"
#include "framework/core/per_thread.h"

#include <algorithm>

namespace cornu::cuda {
namespace {

constexpr int kMinCapability = 80;
constexpr int kFreeSharedBytes = 48 * 1024;  // shared memory of a block that needn't be requested

int attribute_of(CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  check_cuda(cuDeviceGetAttribute(&value, attribute, device), "asking for a GPU's properties");
  return value;
}

GpuFacts facts_of(CUdevice device) {
  GpuFacts facts;
  char name[256] = {};
  check_cuda(cuDeviceGetName(name, sizeof(name), device), "asking for a GPU's name");
  facts.name = name;
  facts.major = attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.minor = attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.multiprocessors = attribute_of(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  check_cuda(cuDeviceTotalMem(&facts.memory_bytes, device), "asking for a GPU's memory");
  CUuuid uuid = {};
  check_cuda(cuDeviceGetUuid(&uuid, device), "asking for a GPU's UUID");
  for (const char byte : uuid.bytes)
    facts.uuid += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return facts;
}

// GPUs whose contexts exist; they can access each other's memory.
std::mutex open_mutex;
std::vector<std::pair<CUdevice, CUcontext>>& open_contexts() {
  static auto& contexts = *new std::vector<std::pair<CUdevice, CUcontext>>;
  return contexts;
}

// If GPUs have no peer access, copies between them go through the host.
void enable_peer(CUdevice device, CUcontext context, CUdevice peer, CUcontext peer_context) {
  int can = 0;
  if (cuDeviceCanAccessPeer(&can, device, peer) != CUDA_SUCCESS || !can) return;
  check_cuda(cuCtxSetCurrent(context), "choosing a GPU");
  const CUresult result = cuCtxEnablePeerAccess(peer_context, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    check_cuda(result, "letting GPUs read each other's memory");
}

int static_bytes(CUfunction function) {
  int bytes = 0;
  check_cuda(cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
             "asking for a kernel's shared memory");
  return bytes;
}

}  // namespace

std::string describe(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  return fmt::format("{} ({}): {}", name, static_cast<int>(result), text);
}

void raise_cuda(CUresult result, std::string_view doing, std::string_view where) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    raise<ResourceExhausted>("The GPU has too little memory for {}{}. Use smaller batches.", doing,
                             where);
  }
  raise<Internal>("CUDA failed when {}{}: {}", doing, where, describe(result));
}

Gpu::Gpu(int number, CUdevice device)
    : number_(number), device_(device), facts_(facts_of(device)) {}

void Gpu::use() {
  CUcontext context = context_.load(std::memory_order_acquire);
  if (context == nullptr) [[unlikely]] {
    std::call_once(opened_, [this] { open(); });
    context = context_.load(std::memory_order_acquire);
  }
  check_cuda(cuCtxSetCurrent(context), "choosing a GPU");
}

void Gpu::open() {
  CUcontext context = nullptr;
  check_cuda(cuDevicePrimaryCtxRetain(&context, device_), "opening a GPU");
  const std::lock_guard lock(open_mutex);
  for (const auto& [peer, peer_context] : open_contexts()) {
    enable_peer(device_, context, peer, peer_context);
    enable_peer(peer, peer_context, device_, context);
  }
  open_contexts().emplace_back(device_, context);
  context_.store(context, std::memory_order_release);
}

int Gpu::most_shared_bytes() const {
  return attribute_of(device_, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
}

CUevent Gpu::take_event() {
  {
    const std::lock_guard lock(mutex_);
    if (!events_.empty()) {
      const CUevent event = events_.back();
      events_.pop_back();
      return event;
    }
  }
  use();
  CUevent event = nullptr;
  check_cuda(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "making an event");
  return event;
}

void Gpu::give_event(CUevent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(event);
}

std::vector<std::unique_ptr<Gpu>> find_gpus() {
  load_driver();
  const CUresult started = cuInit(0);
  check<FailedPrecondition>(started != CUDA_ERROR_NO_DEVICE, "There is no NVIDIA GPU ({}).",
                            describe(started));
  check<FailedPrecondition>(started == CUDA_SUCCESS,
                            "The NVIDIA driver doesn't start: {}. Cornu needs a driver for CUDA {} "
                            "(580 or newer) and access to the GPU's device files.",
                            describe(started), version_text(kMinDriver));
  int count = 0;
  check_cuda(cuDeviceGetCount(&count), "counting GPUs");
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::string too_old;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    check_cuda(cuDeviceGet(&device, i), "asking for a GPU");
    auto gpu = std::make_unique<Gpu>(static_cast<int>(gpus.size()), device);
    const GpuFacts& facts = gpu->facts();
    if (facts.major * 10 + facts.minor >= kMinCapability) {
      gpus.push_back(std::move(gpu));
    } else {
      too_old = fmt::format(" {} has compute capability {}.{}, Cornu needs {}.{}.", facts.name,
                            facts.major, facts.minor, kMinCapability / 10, kMinCapability % 10);
    }
  }
  check<FailedPrecondition>(!gpus.empty(), "There is no NVIDIA GPU that Cornu can use.{}", too_old);
  return gpus;
}

RuntimeStream::RuntimeStream(Gpu& gpu) : gpu_(gpu) {
  gpu.use();
  check_cuda(cuStreamCreate(&handle_, CU_STREAM_NON_BLOCKING), "making a stream");
}

void RuntimeStream::note(std::string_view name) {
  const std::lock_guard lock(names_mutex_);
  names_[launches_++ % names_.size()] = name;
}

std::string RuntimeStream::place() const {
  const std::lock_guard lock(names_mutex_);
  std::string names;
  for (size_t i = launches_ - std::min(launches_, names_.size()); i < launches_; ++i) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", names_[i % names_.size()]);
  }
  return fmt::format(" on GPU {} ({}; launched last: {})", gpu_.number(), gpu_.facts().name,
                     names.empty() ? "nothing" : names);
}

void RuntimeStream::fail(CUresult result, std::string_view doing) {
  broken = true;
  raise_cuda(result, doing, place());
}

RuntimeEvent::RuntimeEvent(RuntimeStream& stream)
    : stream_(stream), handle_(stream.gpu().take_event()) {}

RuntimeEvent::~RuntimeEvent() { stream_.gpu().give_event(handle_); }

void RuntimeEvent::check(CUresult result, std::string_view doing) const {
  if (result != CUDA_SUCCESS) raise_cuda(result, doing, stream_.place());
}

RuntimeFunction::RuntimeFunction(Gpu& gpu, const std::string& name, const std::vector<char>& image)
    : gpu_(gpu), name_(name) {
  gpu.use();
  const std::string doing = "loading kernel " + name;
  CUmodule module = nullptr;
  check_cuda(cuModuleLoadData(&module, image.data()), doing);
  check_cuda(cuModuleGetFunction(&handle_, module, name.c_str()), doing);
  // Load it now: a stream being captured can't wait for code to be loaded.
  check_cuda(cuFuncLoad(handle_), doing);
  while (true) {
    size_t offset = 0;
    size_t size = 0;
    const CUresult result = cuFuncGetParamInfo(handle_, places_.size(), &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) break;  // no more parameters
    check_cuda(result, doing);
    cornu::check<Internal>(size % 8 == 0 && offset == words_ * 8,
                           "Parameter {} of kernel {} has {} bytes at {}, expected words of 8.",
                           places_.size(), name, size, offset);
    places_.push_back(words_);
    words_ += size / 8;
  }
  shared_bytes_ = static_cast<uint32_t>(std::max(kFreeSharedBytes - static_bytes(handle_), 0));
}

void RuntimeFunction::allow_shared() {
  const int most = gpu_.most_shared_bytes() - static_bytes(handle_);
  check_cuda(cuFuncSetAttribute(handle_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most),
             fmt::format("giving kernel {} more shared memory", name_));
  shared_bytes_.store(static_cast<uint32_t>(most), std::memory_order_relaxed);
}

void RuntimeFunction::launch(RuntimeStream& stream, Dim3 grid, Dim3 block, uint32_t shared_bytes,
                             std::span<const uint64_t> words) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  check<Internal>(words.size() == words_, "Kernel {} takes {} words of arguments, got {}.", name_,
                  words_, words.size());
  auto& arguments = per_thread([] { return std::vector<void*>(); });
  arguments.clear();
  for (const size_t place : places_) arguments.push_back(const_cast<uint64_t*>(&words[place]));
  gpu_.use();
  if (shared_bytes > shared_bytes_.load(std::memory_order_relaxed)) [[unlikely]] {
    allow_shared();
  }
  stream.note(name_);
  const CUresult result = cuLaunchKernel(handle_, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                         shared_bytes, stream.handle(), arguments.data(), nullptr);
  if (result == CUDA_SUCCESS) [[likely]] {
    return;
  }
  stream.check(result,
               fmt::format("launching {} with grid ({}, {}, {}), block ({}, {}, {}) and {} bytes "
                           "of shared memory",
                           name_, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes));
}

RuntimeGraph::RuntimeGraph(Gpu& gpu, CUgraph graph) : gpu_(gpu) {
  const CUresult result = cuGraphInstantiateWithFlags(&handle_, graph, 0);
  cuGraphDestroy(graph);
  check_cuda(result, "making a graph of what was captured");
}

RuntimeGraph::~RuntimeGraph() {
  if (handle_ != nullptr) cuGraphExecDestroy(handle_);
}

}  // namespace cornu::cuda
