// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/cuda_runtime/fake_driver.h"

#include <cuda.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int kGpus = 2;
constexpr size_t kMemory = size_t{1} << 30;

struct Failure {
  CUresult result = CUDA_SUCCESS;
  int after = 0;
};

std::mutex mutex;
std::map<std::string, int>& calls() {
  static auto& all = *new std::map<std::string, int>;
  return all;
}
std::map<std::string, Failure>& failures() {
  static auto& all = *new std::map<std::string, Failure>;
  return all;
}
int blocks = 0;
thread_local CUcontext current = nullptr;

// Records a call and returns its result.
CUresult call(const char* function) {
  const std::lock_guard lock(mutex);
  ++calls()[function];
  Failure& failure = failures()[function];
  if (failure.result == CUDA_SUCCESS || failure.after-- > 0) return CUDA_SUCCESS;
  failure.after = 0;
  return failure.result;
}
// Records a call that needs a context.
CUresult call_within(const char* function) {
  const CUresult result = call(function);
  return current == nullptr ? CUDA_ERROR_INVALID_CONTEXT : result;
}

using Work = std::function<void()>;
using Graph = std::vector<Work>;

struct Stream {
  std::unique_ptr<Graph> captured;  // while capturing
  bool invalid = false;
};
struct Function {
  size_t parameters = 0;
};

Stream* stream_of(CUstream handle) { return reinterpret_cast<Stream*>(handle); }
void* memory_of(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult enqueue(const char* function, CUstream handle, Work work) {
  const CUresult result = call_within(function);
  Stream* stream = stream_of(handle);
  if (result != CUDA_SUCCESS) {
    stream->invalid = true;
    return result;
  }
  if (stream->captured) {
    stream->captured->push_back(std::move(work));
  } else {
    work();
  }
  return CUDA_SUCCESS;
}

CUresult take(const char* function, size_t bytes, void** memory) {
  const CUresult result = call_within(function);
  if (result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > kMemory) return CUDA_ERROR_OUT_OF_MEMORY;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  const std::lock_guard lock(mutex);
  ++blocks;
  return CUDA_SUCCESS;
}

CUresult give(const char* function, void* memory) {
  const CUresult result = call_within(function);
  if (result != CUDA_SUCCESS) return result;
  std::free(memory);
  const std::lock_guard lock(mutex);
  --blocks;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

void fake_cuda_fail(const char* function, int result, int after) {
  const std::lock_guard lock(mutex);
  failures()[function] = {static_cast<CUresult>(result), after};
}
int fake_cuda_calls(const char* function) {
  const std::lock_guard lock(mutex);
  return calls()[function];
}
int fake_cuda_blocks() {
  const std::lock_guard lock(mutex);
  return blocks;
}

// ---- GPUs ----

CUresult cuInit(unsigned int) { return call("cuInit"); }
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return call("cuDriverGetVersion");
}
CUresult cuGetErrorName(CUresult result, const char** text) {
  *text = result == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the test wants it";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = kGpus;
  return call("cuDeviceGetCount");
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return call("cuDeviceGet");
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<size_t>(size));
  return call("cuDeviceGetName");
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 232448;
      break;
    default:
      *value = 0;
  }
  return call("cuDeviceGetAttribute");
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) {
  *bytes = kMemory;
  return call("cuDeviceTotalMem");
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 0x10 + device, sizeof(uuid->bytes));
  return call("cuDeviceGetUuid");
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  static char contexts[kGpus];
  *context = reinterpret_cast<CUcontext>(&contexts[device]);
  return call("cuDevicePrimaryCtxRetain");
}
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return call("cuCtxSetCurrent");
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
  *can = 1;
  return call("cuDeviceCanAccessPeer");
}
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned int) {
  return call_within("cuCtxEnablePeerAccess");
}

// Called by NVRTC.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

// ---- memory ----

CUresult cuMemAlloc(CUdeviceptr* memory, size_t bytes) {
  return take("cuMemAlloc", bytes, reinterpret_cast<void**>(memory));
}
CUresult cuMemFree(CUdeviceptr memory) { return give("cuMemFree", memory_of(memory)); }
CUresult cuMemHostAlloc(void** memory, size_t bytes, unsigned int) {
  return take("cuMemHostAlloc", bytes, memory);
}
CUresult cuMemFreeHost(void* memory) { return give("cuMemFreeHost", memory); }
CUresult cuMemAllocAsync(CUdeviceptr* memory, size_t bytes, CUstream) {
  return take("cuMemAllocAsync", bytes, reinterpret_cast<void**>(memory));
}
CUresult cuMemFreeAsync(CUdeviceptr memory, CUstream) {
  return give("cuMemFreeAsync", memory_of(memory));
}
CUresult cuMemGetInfo(size_t* available, size_t* total) {
  *available = kMemory / 2;
  *total = kMemory;
  return call_within("cuMemGetInfo");
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return enqueue("cuMemcpyHtoDAsync", stream, [=] { std::memcpy(memory_of(to), from, bytes); });
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return enqueue("cuMemcpyDtoHAsync", stream, [=] { std::memcpy(to, memory_of(from), bytes); });
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return enqueue("cuMemcpyAsync", stream,
                 [=] { std::memcpy(memory_of(to), memory_of(from), bytes); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return cuMemcpyAsync(to, from, bytes, stream);
}
CUresult cuMemsetD8Async(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream) {
  return enqueue("cuMemsetD8Async", stream, [=] { std::memset(memory_of(memory), byte, bytes); });
}

// ---- streams and events ----

CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  *stream = reinterpret_cast<CUstream>(new Stream);
  return call_within("cuStreamCreate");
}
CUresult cuStreamSynchronize(CUstream) { return call_within("cuStreamSynchronize"); }
CUresult cuStreamQuery(CUstream) { return call_within("cuStreamQuery"); }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned int) {
  return call_within("cuStreamWaitEvent");
}
CUresult cuEventCreate(CUevent* event, unsigned int) {
  *event = reinterpret_cast<CUevent>(new char);
  return call_within("cuEventCreate");
}
CUresult cuEventRecord(CUevent, CUstream) { return call_within("cuEventRecord"); }
CUresult cuEventQuery(CUevent) { return call_within("cuEventQuery"); }
CUresult cuEventSynchronize(CUevent) { return call_within("cuEventSynchronize"); }

// ---- code: a kernel called k3 has three parameters ----

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  *module = reinterpret_cast<CUmodule>(const_cast<void*>(image));
  const bool is_code = std::memcmp(image,
                                   "\x7f"
                                   "ELF",
                                   4) == 0;
  const CUresult result = call_within("cuModuleLoadData");
  return is_code ? result : CUDA_ERROR_INVALID_IMAGE;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  const size_t digit = std::string(name).find_first_of("0123456789");
  *function = reinterpret_cast<CUfunction>(new Function{static_cast<size_t>(name[digit] - '0')});
  return call_within("cuModuleGetFunction");
}
CUresult cuFuncLoad(CUfunction) { return call_within("cuFuncLoad"); }
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  *offset = 8 * index;
  *size = 8;
  const CUresult result = call_within("cuFuncGetParamInfo");
  const bool is_there = index < reinterpret_cast<Function*>(function)->parameters;
  return is_there ? result : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 1024;
  return call_within("cuFuncGetAttribute");
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return call_within("cuFuncSetAttribute");
}
CUresult cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                        unsigned int, unsigned int, unsigned int, CUstream stream, void**, void**) {
  return enqueue("cuLaunchKernel", stream, [] {});
}

// ---- graphs ----

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode) {
  stream_of(handle)->captured = std::make_unique<Graph>();
  stream_of(handle)->invalid = false;
  return call_within("cuStreamBeginCapture");
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  Stream* stream = stream_of(handle);
  const auto captured = std::move(stream->captured);
  const CUresult result = call_within("cuStreamEndCapture");
  if (result != CUDA_SUCCESS || stream->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = reinterpret_cast<CUgraph>(new Graph(*captured));
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  *executable = reinterpret_cast<CUgraphExec>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return call_within("cuGraphInstantiateWithFlags");
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Graph*>(graph);
  return call("cuGraphDestroy");
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete reinterpret_cast<Graph*>(executable);
  return call("cuGraphExecDestroy");
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  const Graph graph = *reinterpret_cast<Graph*>(executable);
  return enqueue("cuGraphLaunch", stream, [graph] {
    for (const Work& work : graph) work();
  });
}

}  // extern "C"
