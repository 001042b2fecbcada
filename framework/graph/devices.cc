// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/devices.h"

#include <array>
#include <atomic>
#include <mutex>

#include "framework/graph/backend.h"

namespace cornu {
namespace {

constexpr std::array kTypes = {DeviceType::Cpu, DeviceType::Gpu, DeviceType::Tpu};

std::array<std::atomic<Backend*>, kTypes.size()> backends = {};
std::atomic<int> cpus = 0;

Backend* find_backend(DeviceType type) {
  static std::once_flag once;
  const auto& slot = backends[static_cast<size_t>(type)];
  if (Backend* backend = slot.load(std::memory_order_acquire)) return backend;
  std::call_once(once, register_builtin_backends);
  return slot.load(std::memory_order_acquire);
}

std::string known_types() {
  std::string known;
  for (DeviceType type : kTypes) {
    if (find_backend(type)) known += (known.empty() ? "" : ", ") + std::string(to_string(type));
  }
  return known;
}

int physical_count(DeviceType type) {
  const Backend* backend = find_backend(type);
  return backend ? backend->device_count() : 0;
}

int logical_count(DeviceType type) {
  return type == DeviceType::Cpu && cpus > 0 ? cpus.load() : physical_count(type);
}

template <class D>
std::vector<D> list(const std::string& prefix, std::optional<DeviceType> type,
                    int (*count)(DeviceType)) {
  std::vector<D> devices;
  for (DeviceType one : kTypes) {
    if (type && *type != one) continue;
    for (int i = 0; i < count(one); ++i) {
      devices.push_back({fmt::format("/{}:{}", prefix, Device{one, i}), one, i});
    }
  }
  return devices;
}

}  // namespace

void register_backend(DeviceType type, Backend& backend) {
  Backend* none = nullptr;
  backends[static_cast<size_t>(type)].compare_exchange_strong(none, &backend);
  check<AlreadyExists>(
      none == nullptr || none == &backend,
      "register_backend: {} devices already have the backend '{}'; '{}' can't replace it.",
      to_string(type), none ? none->name() : "", backend.name());
}

Backend& backend_for(const Device& device) {
  Backend* backend = find_backend(device.type);
  check<Unimplemented>(backend != nullptr,
                       "Device {}: this build of Cornu has no backend for it; it has {}.", device,
                       backend ? "" : known_types());
  if (device.index == 0 || (device.type == DeviceType::Cpu && cpus == 0)) return *backend;
  const int count = logical_count(device.type);
  check<InvalidArgument>(device.index < count,
                         "Device {}: there is no such device; expected an index below {}. "
                         "config::list_logical_devices() lists the devices.{}",
                         device, count,
                         device.type == DeviceType::Cpu
                             ? " config::set_logical_device_configuration splits the CPU into more."
                             : "");
  return *backend;
}

int logical_cpus() { return cpus; }

namespace config {

std::vector<PhysicalDevice> list_physical_devices(std::optional<DeviceType> type) {
  return list<PhysicalDevice>("physical_device", type, physical_count);
}

std::vector<LogicalDevice> list_logical_devices(std::optional<DeviceType> type) {
  return list<LogicalDevice>("device", type, logical_count);
}

void set_logical_device_configuration(const PhysicalDevice& device, int count) {
  check<Unimplemented>(device.device_type == DeviceType::Cpu,
                       "set_logical_device_configuration: only the CPU can be split, got {}.",
                       device.name);
  check<InvalidArgument>(count >= 1,
                         "set_logical_device_configuration: expected at least 1 logical device, "
                         "got {}.",
                         count);
  cpus = count;
}

}  // namespace config
}  // namespace cornu
