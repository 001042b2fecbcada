// SPDX-License-Identifier: Apache-2.0
// doctest's main. With CORNU_TEST_DEVICE=GPU:0 the tests' tensors lie on a device whose memory the
// host can't read: by CORNU_TEST_BACKEND, "guarded" (the default: the CPU's kernels), "simulated"
// (the CUDA backend on simulated GPUs), "divided" (on the parts of one) or "cuda" (a GPU of this
// machine); with CORNU_TEST_DEVICE=TPU:0, "xla" (what the PJRT plugin serves that is found, that of
// CORNU_TEST_PJRT_PLUGIN where the environment names none).
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/graph/devices.h"
#include "framework/graph/dispatch.h"
#include "tests/support/cuda/simulator.h"
#include "tests/support/device/guarded_device.h"
#include "tests/support/skip.h"

namespace {

constexpr int kReplicas = 5;  // at most, of strategies that are tested

// The plugin that the environment names, else that of the tests, which makes devices of the CPU.
void use_plugin(const std::string& name) {
  using namespace cornu;
  const char* plugin = std::getenv("CORNU_TEST_PJRT_PLUGIN");
  if (!std::getenv("PJRT_PLUGIN_LIBRARY_PATH") && plugin && std::filesystem::exists(plugin)) {
    setenv("PJRT_PLUGIN_LIBRARY_PATH", plugin, 1);
    setenv("CORNU_PJRT_OPTIONS", fmt::format("cpu_device_count={}", kReplicas).c_str(), 0);
    // Neither fused multiply-adds nor reciprocals of constants, so that functions have the bits of
    // their ops; and quick compilations.
    setenv("XLA_FLAGS",
           "--xla_cpu_max_isa=AVX --xla_disable_hlo_passes=algsimp "
           "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false",
           0);
  }
  if (const std::string why = config::why_unavailable(DeviceType::Tpu); !why.empty()) {
    test::skip_test("no PJRT plugin can be used: " + why);
  }
  set_default_device(name);
}

void use_device(const std::string& name, const std::string& backend) {
  using namespace cornu;
  if (backend == "guarded") return test::use_guarded_device(name);
  if (backend == "xla") return use_plugin(name);
  if (backend == "simulated" || backend == "divided") {
    const bool divided = backend == "divided";
    static auto* runtime =
        cuda::simulated::make_runtime({.gpus = divided ? 1 : kReplicas}).release();
    Backend& gpus = cuda::cuda_backend(*runtime);
    if (divided) gpus.split_device(0, std::vector<size_t>(kReplicas));
    register_backend(DeviceType::Gpu, gpus);
  } else if (const std::string why = config::why_unavailable(DeviceType::Gpu); !why.empty()) {
    test::skip_test("no GPU can be used: " + why);
  } else if (const auto gpus = config::list_physical_devices(DeviceType::Gpu);
             static_cast<int>(gpus.size()) < kReplicas) {
    config::set_logical_device_configuration(gpus.front(), kReplicas);
  }
  set_default_device(name);
}

}  // namespace

int main(int argc, char** argv) {
  if (const char* device = std::getenv("CORNU_TEST_DEVICE")) {
    const char* backend = std::getenv("CORNU_TEST_BACKEND");
    use_device(device, backend ? backend : "guarded");
  }
  return doctest::Context(argc, argv).run();
}
