// SPDX-License-Identifier: Apache-2.0
#include "tests/support/device/test_device.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/graph/devices.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/execution_config.h"
#include "tests/support/cuda/simulator.h"
#include "tests/support/device/guarded_device.h"
#include "tests/support/skip.h"

namespace cornu::test {
namespace {

constexpr int kReplicas = 5;  // the most that tested strategies use

// Uses the plugin that the environment names, or else the tests' plugin, which makes devices of the
// CPU.
void use_plugin(const std::string& name) {
  const char* plugin = std::getenv("CORNU_TEST_PJRT_PLUGIN");
  if (!std::getenv("PJRT_PLUGIN_LIBRARY_PATH") && plugin && std::filesystem::exists(plugin)) {
    setenv("PJRT_PLUGIN_LIBRARY_PATH", plugin, 1);
    setenv("CORNU_PJRT_OPTIONS", fmt::format("cpu_device_count={}", kReplicas).c_str(), 0);
    // No fused multiply-adds and no reciprocals of constants, so that functions return the same
    // bits as their ops; and fast compilation.
    setenv("XLA_FLAGS",
           "--xla_cpu_max_isa=AVX --xla_disable_hlo_passes=algsimp "
           "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false",
           0);
  }
  if (const std::string why = config::why_unavailable(DeviceType::Tpu); !why.empty()) {
    skip_test("no PJRT plugin can be used: " + why);
  }
  set_default_device(name);
}

void use_device(const std::string& name, const std::string& backend) {
  if (backend == "guarded") return use_guarded_device(name);
  if (backend == "xla") return use_plugin(name);
  if (backend == "simulated" || backend == "divided") {
    const bool divided = backend == "divided";
    const char* wanted = std::getenv("CORNU_TEST_GPUS");
    const int gpus_wanted = wanted ? std::atoi(wanted) : kReplicas;
    static auto* runtime =
        cuda::simulated::make_runtime({.gpus = divided ? 1 : gpus_wanted}).release();
    Backend& gpus = cuda::cuda_backend(*runtime);
    if (divided) gpus.split_device(0, std::vector<size_t>(kReplicas));
    register_backend(DeviceType::Gpu, gpus);
  } else if (const std::string why = config::why_unavailable(DeviceType::Gpu); !why.empty()) {
    skip_test("no GPU can be used: " + why);
  } else if (const auto gpus = config::list_physical_devices(DeviceType::Gpu);
             static_cast<int>(gpus.size()) < kReplicas) {
    config::set_logical_device_configuration(gpus.front(), kReplicas);
  }
  set_default_device(name);
}

}  // namespace

void use_device_of_environment() {
  const char* device = std::getenv("CORNU_TEST_DEVICE");
  if (!device) return;
  const char* backend = std::getenv("CORNU_TEST_BACKEND");
  use_device(device, backend ? backend : "guarded");
}

}  // namespace cornu::test
