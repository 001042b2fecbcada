// SPDX-License-Identifier: Apache-2.0
#include <dnnl.h>
#include <fmt/core.h>
#include <hdf5.h>
#include <hwy/highway.h>
#include <sched.h>

#include <thread>

#include "apps/cornu/commands/commands.h"
#include "framework/core/threads.h"
#include "framework/graph/cpu_instructions.h"
#include "framework/io/console.h"

namespace apps {
namespace {

using cornu::Json;

int64_t usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  return std::thread::hardware_concurrency();
}

std::string hdf5_version() {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

// What is known of each GPU; where there is none, why.
Json gpus() {
  Json gpus = Json::array();
  for (const auto& gpu : cornu::config::list_physical_devices(cornu::DeviceType::Gpu)) {
    Json details = Json::object({{"name", gpu.name}});
    for (const auto& [name, value] : cornu::config::get_device_details(gpu)) {
      details.set(name, value);
    }
    gpus.push_back(std::move(details));
  }
  return gpus;
}

Json facts() {
  Json devices = Json::array();
  for (const auto& device : cornu::config::list_logical_devices()) devices.push_back(device.name);
  return Json::object(
      {{"logical_devices", std::move(devices)},
       {"gpus", gpus()},
       {"no_gpu", cornu::config::why_unavailable(cornu::DeviceType::Gpu)},
       {"cores", usable_cores()},
       {"compute_threads", cornu::compute_threads()},
       {"instruction_set", cornu::cpu_instruction_sets()},
       {"libraries",
        Json::object({{"cornu", CORNU_VERSION},
                      {"oneDNN", onednn_version()},
                      {"Highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)},
                      {"HDF5", hdf5_version()}})}});
}

// A line for each GPU, or one that says why there is none.
std::string gpu_lines(const Json& known) {
  std::string lines;
  for (const Json& gpu : known.at("gpus").as_array()) {
    std::string more;
    for (const auto& [name, value] : gpu.as_object()) {
      if (name != "name" && name != "device_name") {
        more += fmt::format(", {} {}", name, value.as_string());
      }
    }
    lines += fmt::format("GPU: {}: {}{}\n", gpu.at("name").as_string(),
                         gpu.at("device_name").as_string(), more);
  }
  const std::string why = known.at("no_gpu").as_string();
  return why.empty() ? lines : lines + "GPU: none. " + why + "\n";
}

}  // namespace

void show_devices(const DevicesArguments& arguments) {
  const Json known = facts();
  if (arguments.json) {
    cornu::console::write(known.dump() + "\n");
    return;
  }
  std::string devices;
  for (const Json& device : known.at("logical_devices").as_array()) {
    devices += (devices.empty() ? "" : ", ") + device.as_string();
  }
  std::string libraries;
  for (const auto& [name, version] : known.at("libraries").as_object()) {
    libraries += fmt::format("{}{} {}", libraries.empty() ? "" : ", ", name, version.as_string());
  }
  cornu::console::write(fmt::format(
      "Logical devices: {}\n{}Cores: {} for this process\nCompute threads: {} (OMP_NUM_THREADS "
      "says how many)\nInstruction set: {}\nLibraries: {}\n",
      devices, gpu_lines(known), known.at("cores").as_int(), known.at("compute_threads").as_int(),
      known.at("instruction_set").as_string(), libraries));
}

}  // namespace apps
