// SPDX-License-Identifier: Apache-2.0
// Filters that depend on neighboring pixels (keras.ops.image). Images must have a floating-point
// dtype; data formats are as in image.h.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops::image {

// Given along the width and along the height, or as one number for both. (Keras documents them as
// height and width, but computes this; on TensorFlow it mixes up a kernel that isn't square.)
struct GaussianBlurOptions {
  Sizes kernel_size = 3;  // number of pixels to average, up to 100000
  Tensor sigma = 1.0;     // standard deviation in pixels, > 0; a scalar or of shape (2,)
  std::string data_format = {};
};

// Averages neighboring pixels, weighted by a normal distribution; pixels outside of images are
// zeros.
Tensor gaussian_blur(const Tensor& images, const GaussianBlurOptions& options = {});

// The change of (batch, height, width, channels) from top to bottom and from left to right, as two
// numbers along a new last axis, by 3 x 3 Sobel filters. Images must have at least 2 x 2 pixels,
// and are padded by reflection without repeating the border, as in TensorFlow.
Tensor sobel_edges(const Tensor& images, const std::string& data_format = {});

struct SsimOptions {
  double max_val = 1.0;      // maximum pixel value
  int64_t filter_size = 11;  // size of the compared neighborhoods: pixels along each axis
  double filter_sigma = 1.5;
  double k1 = 0.01;
  double k2 = 0.03;
  std::string data_format = {};
};

// The structural similarity of two images, or of the images of two batches: (), or (batch,), up to
// 1 (Wang et al. 2004, "Image quality assessment: from error visibility to structural similarity").
// Any dtype; the result has the same one.
Tensor ssim(const Tensor& image1, const Tensor& image2, const SsimOptions& options = {});

}  // namespace cornu::ops::image
