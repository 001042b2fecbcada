// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/loader.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace cornu::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libcornu_cuda.so";

// The folder of the file that contains this code.
fs::path own_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&find_runtime), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : file.parent_path();
}

std::vector<fs::path> places() {
  if (const char* named = std::getenv("CORNU_CUDA_LIBRARY")) return {named};
  std::vector<fs::path> found;
  if (const fs::path own = own_folder(); !own.empty()) {
    found = {own / kLibrary, own / "../lib" / kLibrary};
  }
#ifdef CORNU_CUDA_LIBRARY_FOLDERS
  for (const char* folder : {CORNU_CUDA_LIBRARY_FOLDERS})
    found.push_back(fs::path(folder) / kLibrary);
#endif
  found.emplace_back(kLibrary);  // the system's search path
  return found;
}

FoundRuntime load() {
  std::string tried;
  for (const fs::path& place : places()) {
    std::error_code error;
    if (place.has_parent_path() && !fs::exists(place, error)) continue;
    void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      tried = dlerror();
      continue;
    }
    const auto make = reinterpret_cast<MakeRuntime>(dlsym(library, "cornu_cuda_runtime"));
    if (make == nullptr) {
      return {nullptr, place.string() + " is no library of Cornu's: it has no cornu_cuda_runtime."};
    }
    FoundRuntime found;
    found.runtime = make(kRuntimeVersion, found.why);
    return found;
  }
  return {nullptr,
          fmt::format("{} couldn't be loaded ({}). Build Cornu where the CUDA toolkit, cuDNN "
                      "and NCCL are installed, or name the file in CORNU_CUDA_LIBRARY.",
                      kLibrary, tried)};
}

}  // namespace

const FoundRuntime& find_runtime() {
  static const auto* found = new FoundRuntime(load());
  return *found;
}

}  // namespace cornu::cuda
