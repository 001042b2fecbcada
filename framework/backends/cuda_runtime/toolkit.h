// SPDX-License-Identifier: Apache-2.0
// The driver and the toolkit's libraries, loaded on demand: this library itself can be loaded when
// some of them are missing, and reports which ones. Their functions have the same names in our
// namespace as in the headers.
#pragma once

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <nvrtc.h>

#include <span>
#include <string>

namespace cornu::cuda {

// As returned by cuDriverGetVersion.
inline constexpr int kMinDriver = 13000;
std::string version_text(int version);  // "13.0"

// A function's name in a library, and the pointer that receives its address.
struct LoadedFunction {
  const char* name;
  void* pointer;
};
// `what` is the library's name: "cuDNN 9".
void load_library(const char* file, const char* what, std::span<const LoadedFunction> functions);

// Each of these loads a library once. Throws FailedPrecondition when it isn't found, naming it and
// what to install.
void load_driver();    // NVIDIA's, libcuda
void load_compiler();  // NVRTC
void load_blas();      // cuBLASLt
void load_cudnn();

// clang-format off
#define CORNU_DRIVER_FUNCTIONS(FUNCTION) \
  FUNCTION(cuCtxEnablePeerAccess) FUNCTION(cuCtxSetCurrent) FUNCTION(cuDeviceCanAccessPeer) \
  FUNCTION(cuDeviceGet) FUNCTION(cuDeviceGetAttribute) FUNCTION(cuDeviceGetCount) \
  FUNCTION(cuDeviceGetName) FUNCTION(cuDeviceGetUuid) FUNCTION(cuDevicePrimaryCtxRetain) \
  FUNCTION(cuDeviceTotalMem) FUNCTION(cuDriverGetVersion) FUNCTION(cuEventCreate) \
  FUNCTION(cuEventQuery) FUNCTION(cuEventRecord) FUNCTION(cuEventSynchronize) \
  FUNCTION(cuFuncGetAttribute) \
  FUNCTION(cuFuncGetParamInfo) FUNCTION(cuFuncLoad) FUNCTION(cuFuncSetAttribute) \
  FUNCTION(cuGetErrorName) FUNCTION(cuGetErrorString) FUNCTION(cuGraphDestroy) \
  FUNCTION(cuGraphExecDestroy) FUNCTION(cuGraphInstantiateWithFlags) FUNCTION(cuGraphLaunch) \
  FUNCTION(cuInit) FUNCTION(cuLaunchKernel) FUNCTION(cuMemAlloc) FUNCTION(cuMemAllocAsync) \
  FUNCTION(cuMemFree) FUNCTION(cuMemFreeAsync) FUNCTION(cuMemFreeHost) FUNCTION(cuMemGetInfo) \
  FUNCTION(cuMemHostAlloc) FUNCTION(cuMemcpyAsync) FUNCTION(cuMemcpyDtoDAsync) \
  FUNCTION(cuMemcpyDtoHAsync) FUNCTION(cuMemcpyHtoDAsync) FUNCTION(cuMemsetD8Async) \
  FUNCTION(cuModuleGetFunction) FUNCTION(cuModuleLoadData) FUNCTION(cuStreamBeginCapture) \
  FUNCTION(cuStreamCreate) FUNCTION(cuStreamEndCapture) FUNCTION(cuStreamQuery) \
  FUNCTION(cuStreamSynchronize) FUNCTION(cuStreamWaitEvent)
#define CORNU_COMPILER_FUNCTIONS(FUNCTION) \
  FUNCTION(nvrtcCompileProgram) FUNCTION(nvrtcCreateProgram) FUNCTION(nvrtcDestroyProgram) \
  FUNCTION(nvrtcGetCUBIN) FUNCTION(nvrtcGetCUBINSize) FUNCTION(nvrtcGetErrorString) \
  FUNCTION(nvrtcGetNumSupportedArchs) FUNCTION(nvrtcGetPTX) FUNCTION(nvrtcGetPTXSize) \
  FUNCTION(nvrtcGetProgramLog) FUNCTION(nvrtcGetProgramLogSize) FUNCTION(nvrtcGetSupportedArchs) \
  FUNCTION(nvrtcVersion)
#define CORNU_BLAS_FUNCTIONS(FUNCTION) \
  FUNCTION(cublasLtCreate) FUNCTION(cublasLtGetProperty) FUNCTION(cublasLtGetStatusName) \
  FUNCTION(cublasLtGetStatusString) FUNCTION(cublasLtMatmul) \
  FUNCTION(cublasLtMatmulAlgoConfigGetAttribute) FUNCTION(cublasLtMatmulAlgoGetHeuristic) \
  FUNCTION(cublasLtMatmulDescInit_internal) FUNCTION(cublasLtMatmulDescSetAttribute) \
  FUNCTION(cublasLtMatmulPreferenceInit_internal) FUNCTION(cublasLtMatmulPreferenceSetAttribute) \
  FUNCTION(cublasLtMatrixLayoutInit_internal) FUNCTION(cublasLtMatrixLayoutSetAttribute)
#define CORNU_CUDNN_FUNCTIONS(FUNCTION) \
  FUNCTION(cudnnBackendCreateDescriptor) FUNCTION(cudnnBackendDestroyDescriptor) \
  FUNCTION(cudnnBackendExecute) FUNCTION(cudnnBackendFinalize) FUNCTION(cudnnBackendGetAttribute) \
  FUNCTION(cudnnBackendSetAttribute) FUNCTION(cudnnCreate) FUNCTION(cudnnDestroy) \
  FUNCTION(cudnnGetErrorString) FUNCTION(cudnnGetLastErrorString) FUNCTION(cudnnGetVersion) \
  FUNCTION(cudnnSetStream)
// clang-format on

#define CORNU_DECLARE(NAME) inline decltype(&::NAME) NAME = nullptr;
#define CORNU_TEXT_OF(NAME) #NAME
#define CORNU_TEXT(NAME) CORNU_TEXT_OF(NAME)  // NAME may be a macro: cuMemAlloc, cuMemAlloc_v2
#define CORNU_LOADED(NAME) {CORNU_TEXT(NAME), &NAME},

CORNU_DRIVER_FUNCTIONS(CORNU_DECLARE)
CORNU_COMPILER_FUNCTIONS(CORNU_DECLARE)
CORNU_BLAS_FUNCTIONS(CORNU_DECLARE)
CORNU_CUDNN_FUNCTIONS(CORNU_DECLARE)

}  // namespace cornu::cuda
