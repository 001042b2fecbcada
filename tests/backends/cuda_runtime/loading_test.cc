// SPDX-License-Identifier: Apache-2.0
// libcornu_cuda.so as the backend loads it, with a driver and without.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <string>

#include "framework/backends/cuda/runtime.h"
#include "framework/core/error.h"

using namespace cornu;
using namespace cornu::cuda;

namespace {

MakeRuntime entry_point() {
  void* library = dlopen(CORNU_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(library != nullptr, CORNU_CUDA_LIBRARY);
  const auto make = reinterpret_cast<MakeRuntime>(dlsym(library, "cornu_cuda_runtime"));
  REQUIRE(static_cast<bool>(make));
  return make;
}

bool has_driver() { return dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr; }

}  // namespace

TEST_CASE("the library refuses another version of its interface") {
  std::string error;
  CHECK(entry_point()(kRuntimeVersion + 1, error) == nullptr);
  CHECK(error ==
        fmt::format("libcornu_cuda has version {} of its interface, Cornu needs {}. Install "
                    "both from one build.",
                    kRuntimeVersion, kRuntimeVersion + 1));
}

TEST_CASE("the library loads without a driver, and says what is missing") {
  std::string error;
  Runtime* runtime = entry_point()(kRuntimeVersion, error);
  CAPTURE(error);
  if (!has_driver()) {
    CHECK(runtime == nullptr);
    CHECK(
        error ==
        "There is no NVIDIA driver (libcuda.so.1: cannot open shared object file: No such file or "
        "directory). Install one, 580 or newer, to use GPUs; in a container, run it with the "
        "NVIDIA Container Toolkit.");
    CHECK(entry_point()(kRuntimeVersion, error) == nullptr);  // again
  } else if (runtime == nullptr) {
    CHECK(error.find("NVIDIA") != std::string::npos);
  } else {
    CHECK(runtime->gpu_count() > 0);
    CHECK(runtime->facts(0).major >= 8);
    CHECK_THROWS_AS(runtime->facts(-1), Internal);  // across the boundary
    CHECK(entry_point()(kRuntimeVersion, error) == runtime);
  }
}
