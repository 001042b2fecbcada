// SPDX-License-Identifier: Apache-2.0
// Listing and configuring devices (tf.config).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
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
// The device that a name like "GPU:0" refers to in DeviceScope, Tensor::to and strategies.
struct LogicalDevice {
  std::string name;  // "/device:GPU:0"
  DeviceType device_type = DeviceType::Cpu;
  int index = 0;
};

// Lists the devices of one type, or of all types.
std::vector<PhysicalDevice> list_physical_devices(std::optional<DeviceType> type = {});
std::vector<LogicalDevice> list_logical_devices(std::optional<DeviceType> type = {});

struct LogicalDeviceConfiguration {
  std::optional<int64_t> memory_limit = {};  // in MiB; nullopt: no limit
};

// Splits a device of the machine into `count` logical devices, or into those described; they take
// its place, in order, among the devices of its type.
// - The CPU: CPU:0 … CPU:count-1, each with an equal share of the compute threads (at least one),
//   all with the host's memory. Other CPU indices then cause InvalidArgument. Without this call
//   there is one, CPU:0, with all compute threads, and CPU:1, CPU:2 … are aliases of it, so that
//   strategies may name one for each replica. Applies to scopes opened afterwards.
// - A GPU: each has its own memory, up to its limit, and its own stream. Must be called before the
//   first use of any GPU; throws FailedPrecondition afterwards.
// Throws InvalidArgument for fewer than one device, limits below 1, or limits for CPUs.
// Thread-safe. (tf.config.set_logical_device_configuration.)
void set_logical_device_configuration(const PhysicalDevice& device, int count);
void set_logical_device_configuration(const PhysicalDevice& device,
                                      const std::vector<LogicalDeviceConfiguration>& devices);

// Returns information about a device (tf.config.experimental.get_device_details). For a GPU:
// "device_name", "compute_capability" ("9.0"), "memory" (bytes), "multiprocessors", and the
// versions of "driver", "cuBLASLt", "cuDNN" and others. Empty for a CPU. Throws InvalidArgument
// when there is no such device.
std::map<std::string, std::string> get_device_details(const PhysicalDevice& device);

struct MemoryInfo {
  size_t current = 0;  // bytes in use
  size_t peak = 0;     // maximum so far
};
// Returns how much of a device's own memory is used by tensors, variables and programs
// (tf.config.experimental.get_memory_info). Throws Unimplemented for CPUs.
MemoryInfo get_memory_info(const Device& device);
inline MemoryInfo get_memory_info(std::string_view device) {
  return get_memory_info(Device::parse(device));
}

// Returns why there is no device of this type: what was looked for, and what is needed. Empty when
// there is one, or when this build doesn't support the type.
std::string why_unavailable(DeviceType type);

}  // namespace config

// The number of logical devices that the CPU is split into; 0 if it isn't split.
int logical_cpus();

}  // namespace cornu
