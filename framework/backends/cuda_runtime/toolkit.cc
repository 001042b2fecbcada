// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/toolkit.h"

#include <dlfcn.h>

#include <cstring>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr const char* kDriverFile = "libcuda.so.1";
constexpr const char* kBlasFile = "libcublasLt.so." CORNU_TEXT(CUBLAS_VER_MAJOR);
constexpr const char* kCudnnFile = "libcudnn.so." CORNU_TEXT(CUDNN_MAJOR);

constexpr LoadedFunction kDriver[] = {CORNU_DRIVER_FUNCTIONS(CORNU_LOADED)};
constexpr LoadedFunction kCompiler[] = {CORNU_COMPILER_FUNCTIONS(CORNU_LOADED)};
constexpr LoadedFunction kBlas[] = {CORNU_BLAS_FUNCTIONS(CORNU_LOADED)};
constexpr LoadedFunction kCudnn[] = {CORNU_CUDNN_FUNCTIONS(CORNU_LOADED)};

void* find(void* library, const LoadedFunction& function) {
  void* address = dlsym(library, function.name);
  if (address != nullptr) std::memcpy(function.pointer, &address, sizeof(address));
  return address;
}

void open_driver() {
  void* library = dlopen(kDriverFile, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    raise<FailedPrecondition>(
        "There is no NVIDIA driver ({}). Install one, 580 or newer, to use GPUs; in a container, "
        "run "
        "it with the NVIDIA Container Toolkit.",
        dlerror());
  }
  check<FailedPrecondition>(find(library, {"cuDriverGetVersion", &cuDriverGetVersion}) != nullptr,
                            "{} is no NVIDIA driver.", kDriverFile);
  int version = 0;
  const CUresult asked = cuDriverGetVersion(&version);
  check<FailedPrecondition>(asked != CUDA_SUCCESS || version >= kMinDriver,
                            "The NVIDIA driver supports CUDA {}, Cornu needs a driver for CUDA {} "
                            "(580 or newer). Update the driver.",
                            version_text(version), version_text(kMinDriver));
  for (const LoadedFunction& function : kDriver) {
    check<FailedPrecondition>(find(library, function) != nullptr,
                              "The NVIDIA driver, for CUDA {}, lacks {}. Update the driver.",
                              version_text(version), function.name);
  }
}

}  // namespace

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void load_library(const char* file, const char* what, std::span<const LoadedFunction> functions) {
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    raise<FailedPrecondition>(
        "{} is missing ({}). Install it, from the CUDA {} packages of NVIDIA, or add its directory "
        "to LD_LIBRARY_PATH.",
        what, dlerror(), CUDA_VERSION / 1000);
  }
  for (const LoadedFunction& function : functions) {
    check<FailedPrecondition>(find(library, function) != nullptr,
                              "{} lacks {}: {} is too old. Install a newer one.", file,
                              function.name, what);
  }
}

void load_driver() {
  static const bool loaded = (open_driver(), true);
  static_cast<void>(loaded);
}

void load_compiler() {
  static const std::string file = fmt::format("libnvrtc.so.{}", CUDA_VERSION / 1000);
  static const bool loaded =
      (load_library(file.c_str(), "NVRTC, CUDA's compiler", kCompiler), true);
  static_cast<void>(loaded);
}

void load_blas() {
  static const bool loaded = (load_library(kBlasFile, "cuBLASLt", kBlas), true);
  static_cast<void>(loaded);
}

void load_cudnn() {
  static const bool loaded = (load_library(kCudnnFile, "cuDNN", kCudnn), true);
  static_cast<void>(loaded);
}

}  // namespace cornu::cuda
