// SPDX-License-Identifier: Apache-2.0
// The arguments of Dataset::from_generator.
#pragma once

#include <functional>
#include <optional>

#include "data/element.h"

namespace cornu::data {

// Starts a pass: returns a function that returns its elements, then nullopt.
using Generator = std::function<std::function<std::optional<Element>()>()>;

struct GeneratorOptions {
  // The types of the elements, with kUnknown for axes that vary; without a structure, each tensor
  // is a component. nullopt: those of the first element.
  std::optional<ElementSpec> output_signature = {};
};

}  // namespace cornu::data
