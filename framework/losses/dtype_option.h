// SPDX-License-Identifier: Apache-2.0
// Reads the dtype of a loss or metric from its config.
#pragma once

#include "framework/core/dtype.h"
#include "framework/core/json.h"

namespace cornu {

// Returns None when the config has no dtype or null.
inline DTypeName dtype_in_config(const Json& config) {
  const Json* dtype = config.find("dtype");
  return !dtype || dtype->is_null() ? DTypeName() : DTypeName(dtype->as_string());
}

}  // namespace cornu
