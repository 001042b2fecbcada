// SPDX-License-Identifier: Apache-2.0
// Sizes along spatial axes, of which the kernels have three.
#pragma once

#include <array>
#include <span>
#include <string>

#include "framework/backends/cuda/kernels/shape/text.h"

namespace cornu::cuda {

using Triple = std::array<int64_t, 3>;

// The values of one to three axes; leading ones that are missing get `missing`.
Triple three_axes(std::span<const int64_t> values, int64_t missing);
inline int64_t product_of(const Triple& values) { return values[0] * values[1] * values[2]; }

// Those of an array's spatial axes, between the batch's and the channels'.
Triple spatial_axes(const std::vector<int64_t>& dims);

// `name`0, `name`1, `name`2.
void add_axes(KernelSizes& sizes, const std::string& name, const Triple& values);

// "i32" where no number in a kernel gets beyond twice `largest`, else "i64".
std::string signed_index(int64_t largest);

}  // namespace cornu::cuda
