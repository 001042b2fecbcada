// SPDX-License-Identifier: Apache-2.0
// What layers of categories give for the number of each: `output_mode`. Internal: layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::layers {

// Class numbers (any shape) as a layer's output in `mode`:
// - "int": as they are.
// - "one_hot": 1 at the number along a new last axis of `depth` elements, which takes the place of
// a
//   last axis of size 1.
// - "multi_hot", "count": the last axis is a sample of numbers, and becomes `depth` elements: 1 for
//   those that are in it, or how often they are (the sum of their `weights`, of the numbers' shape,
//   where there are some).
// Numbers outside of [0, depth) count nowhere. A scalar is a sample of one.
Tensor encode_categories(const Tensor& numbers, const std::string& mode, int64_t depth, DType dtype,
                         const Tensor& weights = {});

// InvalidArgument that names `label` and the argument, with the nearest known name.
void check_one_of(const std::string& label, const char* what, const std::string& value,
                  const std::vector<std::string>& known);

}  // namespace cornu::layers
