// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/one_device.h"

#include "framework/graph/backend.h"

namespace cornu::distribute {
namespace {

Device checked_device(const std::string& text) {
  const Device device = Device::parse(text);
  backend_for(device);  // throws if there is none
  return device;
}

}  // namespace

OneDeviceStrategy::OneDeviceStrategy(const std::string& device)
    : Strategy(make_single_device_strategy(checked_device(device), "OneDeviceStrategy")) {}

}  // namespace cornu::distribute
