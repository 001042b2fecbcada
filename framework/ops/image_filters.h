// SPDX-License-Identifier: Apache-2.0
// What depends on the neighbours of pixels (keras.ops.image). Images, of a floating-point dtype,
// and data formats as in image.h.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops::image {

// Along the width, along the height, or one number for both. (Keras calls them height and width,
// but computes this; on TensorFlow it mixes up a kernel that isn't square.)
struct GaussianBlurOptions {
  Sizes kernel_size = 3;  // how many pixels are averaged, up to 100000
  Tensor sigma = 1.0;     // the standard deviation, > 0, in pixels; a scalar or of shape (2,)
  std::string data_format = {};
};

// Averages neighbouring pixels, weighted by a normal distribution; outside of images are zeros.
Tensor gaussian_blur(const Tensor& images, const GaussianBlurOptions& options = {});

// The change of (batch, height, width, channels) from top to bottom and from left to right, as two
// numbers of a last axis, by Sobel's filters of 3 x 3 pixels; images, of at least 2 x 2 pixels, are
// reflected without their border, as by TensorFlow.
Tensor sobel_edges(const Tensor& images, const std::string& data_format = {});

struct SsimOptions {
  double max_val = 1.0;      // the greatest value of pixels
  int64_t filter_size = 11;  // of the neighbours that are compared: pixels along each axis
  double filter_sigma = 1.5;
  double k1 = 0.01;
  double k2 = 0.03;
  std::string data_format = {};
};

// How alike two images are, or the images of two batches: (), or (batch,), up to 1 (Wang et al.
// 2004, "Image quality assessment: from error visibility to structural similarity"). Any dtype, of
// which the result is, too.
Tensor ssim(const Tensor& image1, const Tensor& image2, const SsimOptions& options = {});

}  // namespace cornu::ops::image
