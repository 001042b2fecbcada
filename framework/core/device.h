// SPDX-License-Identifier: Apache-2.0
// Logical devices.
#pragma once

#include <fmt/format.h>

#include <iosfwd>
#include <string>
#include <string_view>

namespace cornu {

enum class DeviceType { Cpu, Gpu, Tpu };

std::string_view to_string(DeviceType type);  // "CPU", "GPU", "TPU"

// A logical device: "CPU:0" is a share of this machine's cores, "GPU:1" its second GPU.
struct Device {
  DeviceType type = DeviceType::Cpu;
  int index = 0;

  // Parses "CPU", "GPU:1" (in any case; a missing index is 0) and TensorFlow's spellings: "/gpu:0",
  // "/device:CPU:0", "/job:localhost/replica:0/task:0/device:GPU:0" (only the device part counts).
  // Throws InvalidArgument, listing these forms, for anything else.
  static Device parse(std::string_view text);
  std::string to_string() const;

  // Whether both devices use the same memory. All CPUs share the host's.
  bool shares_memory_with(const Device& other) const {
    return type == other.type && (type == DeviceType::Cpu || index == other.index);
  }

  friend bool operator==(const Device&, const Device&) = default;
};

std::ostream& operator<<(std::ostream& out, const Device& device);

}  // namespace cornu

template <>
struct fmt::formatter<cornu::Device> : fmt::formatter<std::string_view> {
  auto format(const cornu::Device& device, format_context& context) const {
    return fmt::formatter<std::string_view>::format(device.to_string(), context);
  }
};
