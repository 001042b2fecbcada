// SPDX-License-Identifier: Apache-2.0
// Encodes category numbers according to a layer's `output_mode`. Internal: layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::layers {

// Encodes class numbers (of any shape) according to `mode`:
// - "int": unchanged.
// - "one_hot": 1 at the number along a new last axis with `depth` elements, which replaces a last
//   axis of size 1.
// - "multi_hot", "count": the last axis is a sample of numbers and becomes `depth` elements: 1 for
//   those that occur in it, or the number of occurrences (or the sum of their `weights`, which have
//   the numbers' shape).
// Numbers outside [0, depth) don't count. A scalar is a sample of one number.
Tensor encode_categories(const Tensor& numbers, const std::string& mode, int64_t depth, DType dtype,
                         const Tensor& weights = {});

// Throws InvalidArgument, naming `label` and the argument and suggesting the nearest known name.
void check_one_of(const std::string& label, const char* what, const std::string& value,
                  const std::vector<std::string>& known);

}  // namespace cornu::layers
