// SPDX-License-Identifier: Apache-2.0
// The dtype of a loss or a metric in its config.
#pragma once

#include "framework/core/dtype.h"
#include "framework/core/json.h"

namespace cornu {

// None where the config has none, or null.
inline DTypeName dtype_in_config(const Json& config) {
  const Json* dtype = config.find("dtype");
  return !dtype || dtype->is_null() ? DTypeName() : DTypeName(dtype->as_string());
}

}  // namespace cornu
