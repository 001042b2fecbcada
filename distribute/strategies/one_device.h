// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/strategy/strategy.h"

namespace cornu::distribute {

// Runs everything on one device, for example "CPU:0" (tf.distribute.OneDeviceStrategy). Throws
// InvalidArgument when `device` can't be parsed, and Unimplemented when this build has no backend
// for it.
class OneDeviceStrategy final : public Strategy {
 public:
  explicit OneDeviceStrategy(const std::string& device);
};

}  // namespace cornu::distribute
