// SPDX-License-Identifier: Apache-2.0
// What Dataset::from_generator takes.
#pragma once

#include <functional>
#include <optional>

#include "data/element.h"

namespace cornu::data {

// Begins a pass: gives a function that gives its elements, then nullopt.
using Generator = std::function<std::function<std::optional<Element>()>()>;

struct GeneratorOptions {
  // The types of the elements, kUnknown for axes that vary; without a structure, each tensor is a
  // component of its own. None: those of the first element.
  std::optional<ElementSpec> output_signature = {};
};

}  // namespace cornu::data
