// SPDX-License-Identifier: Apache-2.0
// The inner loop of resizing, using the processor's widest vectors.
#pragma once

#include <cstdint>

namespace cornu::data::codecs {

// to[i] = the sum of weights[k] * rows[k * stride + i] over `taps` rows, for i in [0, count). `to`
// must not overlap the other arguments.
void weigh_rows(const uint8_t* rows, int64_t stride, int64_t taps, const float* weights,
                int64_t count, float* to);
void weigh_rows(const float* rows, int64_t stride, int64_t taps, const float* weights,
                int64_t count, float* to);

}  // namespace cornu::data::codecs
