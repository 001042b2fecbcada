// SPDX-License-Identifier: Apache-2.0
// Lists and configures devices (tf.config).
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

// The devices of one type, or of all.
std::vector<PhysicalDevice> list_physical_devices(std::optional<DeviceType> type = {});
std::vector<LogicalDevice> list_logical_devices(std::optional<DeviceType> type = {});

struct LogicalDeviceConfiguration {
  std::optional<int64_t> memory_limit = {};  // in MiB; none: as much as there is
};

// Splits a device of the machine into `count` logical ones, or into those described; these follow
// one another in its place among the devices of its type.
// - The CPU: CPU:0 … CPU:count-1, each with an equal share of the compute threads (at least one),
// all
//   with the host's memory; other CPU indices are then InvalidArgument. Without this call there is
//   one, CPU:0, with all compute threads, and CPU:1, CPU:2 … are aliases of it, so that strategies
//   may name one for each replica. Applies to scopes opened afterwards.
// - A GPU: each has memory of its own, up to its limit, and a stream of its own. Before the first
// use
//   of any GPU: FailedPrecondition afterwards.
// InvalidArgument for fewer than one device, limits below 1, or limits of CPUs. Thread-safe.
// (tf.config.set_logical_device_configuration.)
void set_logical_device_configuration(const PhysicalDevice& device, int count);
void set_logical_device_configuration(const PhysicalDevice& device,
                                      const std::vector<LogicalDeviceConfiguration>& devices);

}  // namespace config

// The number of logical devices that the CPU was split into; 0: not split.
int logical_cpus();

}  // namespace cornu
