// SPDX-License-Identifier: Apache-2.0
// Type inference with unknown axes, by inferring with several concrete sizes for each of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "framework/graph/op.h"

namespace cornu {

// Sizes to substitute for unknown axes, unlikely in any model.
inline constexpr std::array<int64_t, 2> kSubstituteSizes = {83, 89};
// A size that also differs from these after division by 64 (as strides divide the size of an
// image). Code that holds a limited number of elements may not accept it.
inline constexpr int64_t kDistantSize = 179;
// Alternatives when these sizes don't work because an axis is split into parts of a fixed number of
// rows: multiples of such numbers. The second pair is for windows longer than the first one.
inline constexpr std::array<std::array<int64_t, 2>, 2> kMultipleSizes = {
    {{480, 960}, {15360, 30720}}};

// The types with their unknown axes replaced by sizes: `size` for the first, and `step` more for
// each further one.
std::vector<TensorType> with_sizes(std::vector<TensorType> types, int64_t size, int64_t step = 0);
// The types inferred for one size, with unknown axes where those inferred for another size differ.
// Ranks must be equal.
std::vector<TensorType> open_where_different(std::vector<TensorType> types,
                                             const std::vector<TensorType>& others);

}  // namespace cornu
