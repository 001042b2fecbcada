// SPDX-License-Identifier: Apache-2.0
// A convolution of one input channel fused with the max-pooling after it.
#pragma once

#include <cstdint>

namespace cornu::cpu {

// x (batch, height, width, 1), filter (taps_h, taps_w, 1, channels), stride 1 and no padding;
// windows don't overlap. y and index: (batch, pooled_h, pooled_w, channels).
struct ConvPoolProblem {
  int64_t batch;
  int64_t height;
  int64_t width;
  int64_t channels;
  int64_t pooled_h;
  int64_t pooled_w;
  bool relu;

  int64_t pooled() const { return pooled_h * pooled_w * channels; }  // elements of an image of y
};

// Vectorized over output channels, for one size of filter and window. Each function works on images
// [begin, end).
struct SimdConvPool {
  // y = max of the window's convolution outputs; index = the position of the first maximum in the
  // window.
  void (*forward)(const ConvPoolProblem&, const float* x, const float* filter, const float* bias,
                  float* y, uint8_t* index, int64_t begin, int64_t end);
  // The gradients of filter and bias, (taps_h * taps_w + 1, channels), from these images only.
  void (*filter_grad)(const ConvPoolProblem&, const float* x, const float* dy, const uint8_t* index,
                      float* gradients, int64_t begin, int64_t end);
};

// For square filters of 3 or 5 taps a side and windows of 2 x 2; null functions for others.
SimdConvPool simd_conv_pool(int64_t taps, int64_t window);

}  // namespace cornu::cpu
