// SPDX-License-Identifier: Apache-2.0
// Logical devices.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace cornu {

enum class DeviceType { Cpu, Gpu, Tpu };

// A logical device: "CPU:0" is a share of this machine's cores, "GPU:1" its second GPU.
struct Device {
  DeviceType type = DeviceType::Cpu;
  int index = 0;

  // Parses "CPU", "CPU:1", "GPU:0", "TPU:3" (any case; a missing index is 0).
  // InvalidArgument otherwise.
  static Device parse(std::string_view text);
  std::string to_string() const;

  friend bool operator==(const Device&, const Device&) = default;
};

}  // namespace cornu

template <>
struct fmt::formatter<cornu::Device> : fmt::formatter<std::string_view> {
  auto format(const cornu::Device& device, format_context& context) const {
    return fmt::formatter<std::string_view>::format(device.to_string(), context);
  }
};
