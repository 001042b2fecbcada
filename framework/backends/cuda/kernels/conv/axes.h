// SPDX-License-Identifier: Apache-2.0
// Sizes along spatial axes; kernels always have three.
#pragma once

#include <array>
#include <span>
#include <string>

#include "framework/backends/cuda/kernels/shape/text.h"

namespace cornu::cuda {

using Triple = std::array<int64_t, 3>;

// The values of one to three axes; missing leading ones are set to `missing`.
Triple three_axes(std::span<const int64_t> values, int64_t missing);
inline int64_t product_of(const Triple& values) { return values[0] * values[1] * values[2]; }

// The sizes of an array's spatial axes, between the batch and channel axes.
Triple spatial_axes(const std::vector<int64_t>& dims);

// Adds `name`0, `name`1, `name`2.
void add_axes(KernelSizes& sizes, const std::string& name, const Triple& values);

// "i32" if no number in a kernel exceeds twice `largest`, otherwise "i64".
std::string signed_index(int64_t largest);

}  // namespace cornu::cuda
