// SPDX-License-Identifier: Apache-2.0
#include "framework/core/device.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "framework/core/error.h"

namespace cornu {

Device Device::parse(std::string_view text) {
  // TensorFlow's "/gpu:0" and "/job:…/replica:…/task:…/device:GPU:0" end in the device.
  const bool is_path = text.starts_with('/');
  std::string_view device_text = text.substr(is_path ? text.rfind('/') + 1 : 0);
  constexpr std::string_view kDevice = "device:";
  if (is_path && device_text.starts_with(kDevice)) device_text.remove_prefix(kDevice.size());
  std::string name(device_text.substr(0, device_text.find(':')));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  Device device;
  bool known = true;
  if (name == "GPU" || name == "CUDA") {
    device.type = DeviceType::Gpu;
  } else if (name == "TPU") {
    device.type = DeviceType::Tpu;
  } else {
    known = name == "CPU";
  }
  if (const size_t colon = device_text.find(':'); colon != std::string_view::npos) {
    const char* end = device_text.data() + device_text.size();
    const auto result = std::from_chars(device_text.data() + colon + 1, end, device.index);
    known = known && result.ec == std::errc() && result.ptr == end && device.index >= 0;
  }
  check<InvalidArgument>(
      known, "Device '{}': expected CPU, GPU or TPU with an index, for example 'GPU:0'.", text);
  return device;
}

std::string Device::to_string() const {
  const char* name = type == DeviceType::Cpu ? "CPU" : type == DeviceType::Gpu ? "GPU" : "TPU";
  return fmt::format("{}:{}", name, index);
}

}  // namespace cornu
