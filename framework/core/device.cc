// SPDX-License-Identifier: Apache-2.0
#include "framework/core/device.h"

#include <algorithm>
#include <charconv>

#include "framework/core/ascii.h"
#include "framework/core/error.h"

namespace cornu {
namespace {

// Reads the number after a colon: digits only.
bool read_number(std::string_view text, int& number) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  return result.ec == std::errc() && result.ptr == end && number >= 0;
}

bool read_type(std::string_view text, DeviceType& type) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(), ascii::to_upper);
  if (name == "CPU") {
    type = DeviceType::Cpu;
  } else if (name == "GPU" || name == "CUDA") {
    type = DeviceType::Gpu;
  } else if (name == "TPU") {
    type = DeviceType::Tpu;
  } else {
    return false;
  }
  return true;
}

// Reads "GPU:1", or "GPU" alone, optionally after "device:".
bool read_device(std::string_view text, Device& device) {
  constexpr std::string_view kDevice = "device:";
  if (text.starts_with(kDevice)) text.remove_prefix(kDevice.size());
  const size_t colon = text.find(':');
  return read_type(text.substr(0, colon), device.type) &&
         (colon == std::string_view::npos || read_number(text.substr(colon + 1), device.index));
}

// Whether this is a part of a full name before the device: "job:worker", "replica:0", "task:1".
bool is_place(std::string_view part) {
  const size_t colon = part.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = part.substr(0, colon);
  const std::string_view value = part.substr(colon + 1);
  int number = 0;
  if (key == "job") return !value.empty();
  return (key == "replica" || key == "task") && read_number(value, number);
}

// Reads "/job:…/replica:0/task:0/device:GPU:1", where any of the parts and "device:" may be
// missing.
bool read_path(std::string_view path, Device& device) {
  for (;;) {
    path.remove_prefix(1);  // the slash
    const size_t slash = path.find('/');
    if (slash == std::string_view::npos) break;
    if (!is_place(path.substr(0, slash))) return false;
    path.remove_prefix(slash);
  }
  return read_device(path, device);
}

}  // namespace

std::string_view to_string(DeviceType type) {
  switch (type) {
    case DeviceType::Cpu:
      return "CPU";
    case DeviceType::Gpu:
      return "GPU";
    case DeviceType::Tpu:
      break;
  }
  return "TPU";
}

Device Device::parse(std::string_view text) {
  Device device;
  const bool known = text.starts_with('/') ? read_path(text, device) : read_device(text, device);
  check<InvalidArgument>(
      known,
      "Device '{}': expected CPU, GPU or TPU with an index, as in 'GPU:0', "
      "'/gpu:0', '/device:GPU:0' or '/job:localhost/replica:0/task:0/device:GPU:0'.",
      text);
  return device;
}

std::string Device::to_string() const {
  return fmt::format("{}:{}", cornu::to_string(type), index);
}

}  // namespace cornu
