// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/devices.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "framework/graph/backend.h"

namespace cornu {
namespace {

constexpr std::array kTypes = {DeviceType::Cpu, DeviceType::Gpu, DeviceType::Tpu};

std::array<std::atomic<Backend*>, kTypes.size()> backends = {};
std::atomic<int> cpus = 0;

// How the backend of a device type is found, once, and why there is none.
struct Finder {
  std::mutex mutex;
  FindBackend find = nullptr;
  std::string reason;
};
Finder& finder_of(DeviceType type) {
  static auto* finders = new std::array<Finder, kTypes.size()>;
  return (*finders)[static_cast<size_t>(type)];
}

Backend* find_backend(DeviceType type) {
  static std::once_flag once;
  auto& slot = backends[static_cast<size_t>(type)];
  if (Backend* backend = slot.load(std::memory_order_acquire)) return backend;
  std::call_once(once, register_builtin_backends);
  Finder& finder = finder_of(type);
  const std::lock_guard lock(finder.mutex);
  if (const FindBackend find = std::exchange(finder.find, nullptr); find && !slot) {
    if (Backend* found = find(finder.reason)) register_backend(type, *found);
  }
  return slot.load(std::memory_order_acquire);
}

std::string why_none(DeviceType type) {
  Finder& finder = finder_of(type);
  const std::lock_guard lock(finder.mutex);
  return finder.reason;
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
  if (type == DeviceType::Cpu && cpus > 0) return cpus;
  const Backend* backend = find_backend(type);
  return backend ? backend->logical_device_count() : 0;
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

bool is_there(const Tensor& tensor, const Device& device) {
  return tensor.on_host() ? device.type == DeviceType::Cpu : tensor.device() == device;
}

void register_backend(DeviceType type, Backend& backend) {
  Backend* none = nullptr;
  backends[static_cast<size_t>(type)].compare_exchange_strong(none, &backend);
  check<AlreadyExists>(
      none == nullptr || none == &backend,
      "register_backend: {} devices already have the backend '{}'; '{}' can't replace it.",
      to_string(type), none ? none->name() : "", backend.name());
}

void register_backend_finder(DeviceType type, FindBackend find) {
  Finder& finder = finder_of(type);
  const std::lock_guard lock(finder.mutex);
  finder.find = find;
}

void Backend::split_device(int, std::span<const size_t>) {
  raise<Unimplemented>(
      "set_logical_device_configuration: devices of the backend '{}' can't be split.", name());
}

Tensor Backend::copy(const Tensor& tensor, const Device& device) {
  const bool is_own = tensor.on_host() || tensor.device().type == device.type;
  return to_device(is_own ? tensor : tensor.host(), device);
}

void Backend::bring(std::span<Tensor> tensors, const Device& device) {
  for (Tensor& tensor : tensors) {
    if (!is_there(tensor, device)) tensor = copy(tensor, device);
  }
}

std::map<std::string, std::string> Backend::device_details(int) const { return {}; }

Backend::Group Backend::connect(std::span<const Device>, Group group) { return group; }

std::shared_ptr<GroupConnection> Backend::connect_processes(std::span<const Device>,
                                                            const std::shared_ptr<ProcessGroup>&,
                                                            std::chrono::milliseconds) {
  return nullptr;
}

std::pair<size_t, size_t> Backend::memory_usage(const Device& device) {
  raise<Unimplemented>("get_memory_info: {} has no memory of its own that is counted.", device);
}

Backend& backend_for(const Device& device) {
  Backend* backend = find_backend(device.type);
  if (!backend) {
    const std::string why = why_none(device.type);
    check<FailedPrecondition>(why.empty(), "Device {}: {}", device, why);
  }
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
  check<InvalidArgument>(count >= 1,
                         "set_logical_device_configuration: expected at least 1 logical device, "
                         "got {}.",
                         count);
  if (device.device_type == DeviceType::Cpu) {
    cpus = count;
  } else {
    set_logical_device_configuration(
        device, std::vector<LogicalDeviceConfiguration>(static_cast<size_t>(count)));
  }
}

void set_logical_device_configuration(const PhysicalDevice& device,
                                      const std::vector<LogicalDeviceConfiguration>& devices) {
  check<InvalidArgument>(!devices.empty(),
                         "set_logical_device_configuration: expected at least 1 logical device, "
                         "got 0.");
  std::vector<size_t> limits;
  for (const LogicalDeviceConfiguration& one : devices) {
    check<InvalidArgument>(
        !one.memory_limit || *one.memory_limit > 0,
        "set_logical_device_configuration: expected a memory_limit of at least 1 "
        "MiB, got {}.",
        one.memory_limit.value_or(0));
    constexpr int64_t kMax = int64_t{1} << 32;  // MiB
    limits.push_back(static_cast<size_t>(std::min(one.memory_limit.value_or(0), kMax)) << 20);
  }
  if (device.device_type == DeviceType::Cpu) {
    check<InvalidArgument>(
        std::ranges::all_of(limits, [](size_t limit) { return limit == 0; }),
        "set_logical_device_configuration: CPUs have the host's memory, they take "
        "no memory_limit.");
    cpus = static_cast<int>(limits.size());
    return;
  }
  backend_for({device.device_type, 0}).split_device(device.index, limits);
}

std::map<std::string, std::string> get_device_details(const PhysicalDevice& device) {
  const int count = physical_count(device.device_type);
  check<InvalidArgument>(device.index >= 0 && device.index < count,
                         "get_device_details: there is no {}:{}; expected an index below {}.",
                         to_string(device.device_type), device.index, count);
  return find_backend(device.device_type)->device_details(device.index);
}

MemoryInfo get_memory_info(const Device& device) {
  const auto [current, peak] = backend_for(device).memory_usage(device);
  return {current, peak};
}

std::string why_unavailable(DeviceType type) { return find_backend(type) ? "" : why_none(type); }

}  // namespace config
}  // namespace cornu
