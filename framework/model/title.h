// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

#include "framework/model/layer.h"

namespace cornu {

// How error messages name a layer or a model: "Dense 'dense_1'".
inline std::string title_of(const Layer& layer) {
  return fmt::format("{} '{}'", layer.class_name(), layer.name());
}

}  // namespace cornu
