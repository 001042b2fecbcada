// SPDX-License-Identifier: Apache-2.0
// Types with unknown axes, found by computing with two sizes for each of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "framework/graph/op.h"

namespace cornu {

// Sizes to take for unknown axes, unlikely in any model.
inline constexpr std::array<int64_t, 2> kSubstituteSizes = {83, 89};
// One that differs from these when it is divided by 64, too (a picture's, by strides). What holds a
// limited number may not take it.
inline constexpr int64_t kDistantSize = 179;
// Where these can't be, since parts of a fixed number of rows are made of an axis: multiples of
// such numbers. The second pair is for windows that are longer than the first one.
inline constexpr std::array<std::array<int64_t, 2>, 2> kMultipleSizes = {
    {{480, 960}, {15360, 30720}}};

// The types with sizes for their unknown axes: `size`, and `step` more for each further one.
std::vector<TensorType> with_sizes(std::vector<TensorType> types, int64_t size, int64_t step = 0);
// The types of one size, with unknown axes where those of another size differ. Ranks must be equal.
std::vector<TensorType> open_where_different(std::vector<TensorType> types,
                                             const std::vector<TensorType>& others);

}  // namespace cornu
