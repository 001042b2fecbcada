// SPDX-License-Identifier: Apache-2.0
// Which devices there are (tf.config).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/core/device.h"

namespace cornu {

namespace config {

// Hardware that a registered backend serves; all of the machine's cores are one CPU.
struct PhysicalDevice {
  std::string name;  // "/physical_device:GPU:0"
  DeviceType device_type = DeviceType::Cpu;
  int index = 0;
};
// What "GPU:0" names in DeviceScope, Tensor::to and strategies.
struct LogicalDevice {
  std::string name;  // "/device:GPU:0"
  DeviceType device_type = DeviceType::Cpu;
  int index = 0;
};

// Of one type, or of all.
std::vector<PhysicalDevice> list_physical_devices(std::optional<DeviceType> type = {});
std::vector<LogicalDevice> list_logical_devices(std::optional<DeviceType> type = {});

// Splits the CPU into `count` logical devices CPU:0 … CPU:count-1, each with an equal share of the
// compute threads (at least one) and all with the host's memory; other names of CPUs are then
// InvalidArgument. Unless this is called there is one, CPU:0, with all compute threads, and CPU:1,
// CPU:2 … are other names for it, so that strategies may name as many as they have replicas. Holds
// for scopes that are opened afterwards. InvalidArgument for a count below 1; Unimplemented for
// other devices than the CPU. Thread-safe.
void set_logical_device_configuration(const PhysicalDevice& device, int count);

}  // namespace config

// Into how many the CPU was split; 0: it wasn't.
int logical_cpus();

}  // namespace cornu
