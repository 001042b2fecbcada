// SPDX-License-Identifier: Apache-2.0
// Helper shared by image operations: one image or several, in either data format, as a
// channels-last batch. Internal to framework/ops.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops::internal {

// Throws InvalidArgument, with the nearest known value, if `value` isn't one of `known`.
void require_one_of(std::string_view who, std::string_view what, const std::string& value,
                    const std::vector<std::string>& known);

class ImageBatch {
 public:
  // Throws InvalidArgument, naming `who`, unless `images` have the shape (height, width, channels),
  // optionally with a leading batch axis; with 3 spatial axes, volumes: (depth, height, width,
  // channels). An empty format means "channels_last".
  ImageBatch(const Tensor& images, const std::string& data_format, std::string_view who,
             int64_t spatial_axes = 2);

  const Tensor& images() const { return images_; }  // (batch, height, width, channels)
  // Converts a result of this form back to the form of the original images.
  Tensor restored(const Tensor& result) const;

 private:
  Tensor images_;
  bool single_;
  bool channels_first_;
};

// Throws InvalidArgument, naming `who`, unless the tensor has a floating-point dtype.
void require_floating_images(const Tensor& images, std::string_view who);

// Weighted sums of x along an axis, with weights from the rows of a matrix (new size, size of the
// axis). The weights that count are contiguous in each row: a backend may skip the others, which
// are 0.
Tensor weighted_axis(const Tensor& matrix, const Tensor& x, int64_t axis);

// Convolves each channel of (batch, height, width, channels) with the products of row weights and
// column weights around each pixel. For the padding "same", images are padded with zeros.
Tensor weighted_neighbours(const Tensor& images, const Tensor& row_weights,
                           const Tensor& column_weights, const std::string& padding);

// `size` weights of a mean, by distance from the middle; sigma is a scalar whose dtype the weights
// have.
Tensor gaussian_weights(const Tensor& sigma, int64_t size);

}  // namespace cornu::ops::internal
