// SPDX-License-Identifier: Apache-2.0
// The inner loop of a depthwise filter's gradient.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cornu::cpu {

// Where a tap meets the image: the offsets, in elements from the image's first channel, of an input
// and of an output position.
struct DepthwisePair {
  int64_t x;
  int64_t y;
};

// sums[i] += the sum of x[pair.x + i] * y[pair.y + i] over the pairs, for i < count. An element's
// bits don't depend on the others.
using DepthwiseSum = void (*)(std::span<const DepthwisePair> pairs, const float* x, const float* y,
                              float* sums, size_t count);

DepthwiseSum simd_depthwise_sum();  // for this CPU

}  // namespace cornu::cpu
