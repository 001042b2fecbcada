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

// Describes each device of a type.
Json described(cornu::DeviceType type) {
  Json all = Json::array();
  for (const auto& device : cornu::config::list_physical_devices(type)) {
    Json details = Json::object({{"name", device.name}});
    for (const auto& [name, value] : cornu::config::get_device_details(device)) {
      details.set(name, value);
    }
    all.push_back(std::move(details));
  }
  return all;
}

Json facts() {
  Json devices = Json::array();
  for (const auto& device : cornu::config::list_logical_devices()) devices.push_back(device.name);
  return Json::object(
      {{"logical_devices", std::move(devices)},
       {"gpus", described(cornu::DeviceType::Gpu)},
       {"no_gpu", cornu::config::why_unavailable(cornu::DeviceType::Gpu)},
       {"tpus", described(cornu::DeviceType::Tpu)},
       {"no_tpu", cornu::config::why_unavailable(cornu::DeviceType::Tpu)},
       {"cores", usable_cores()},
       {"compute_threads", cornu::compute_threads()},
       {"instruction_set", cornu::cpu_instruction_sets()},
       {"libraries",
        Json::object({{"cornu", CORNU_VERSION},
                      {"oneDNN", onednn_version()},
                      {"Highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)},
                      {"HDF5", hdf5_version()}})}});
}

// One line per device of a type, "GPU" or "TPU", or a line with the reason why there is none.
std::string lines_of(std::string_view type, const Json& devices, const std::string& why) {
  std::string lines;
  for (const Json& device : devices.as_array()) {
    std::string more;
    for (const auto& [name, value] : device.as_object()) {
      if (name != "name" && name != "device_name") {
        more += fmt::format(", {} {}", name, value.as_string());
      }
    }
    lines += fmt::format("{}: {}: {}{}\n", type, device.at("name").as_string(),
                         device.at("device_name").as_string(), more);
  }
  return why.empty() ? lines : fmt::format("{}{}: none. {}\n", lines, type, why);
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
      "Logical devices: {}\n{}{}Cores: {} for this process\nCompute threads: {} (OMP_NUM_THREADS "
      "says how many)\nInstruction set: {}\nLibraries: {}\n",
      devices, lines_of("GPU", known.at("gpus"), known.at("no_gpu").as_string()),
      lines_of("TPU", known.at("tpus"), known.at("no_tpu").as_string()), known.at("cores").as_int(),
      known.at("compute_threads").as_int(), known.at("instruction_set").as_string(), libraries));
}

}  // namespace apps
