// SPDX-License-Identifier: Apache-2.0
// What operations on images share: one image or several, in either data format, as a batch whose
// channels come last. Internal to framework/ops.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::ops::internal {

// InvalidArgument, with the nearest known one, for a value that isn't among them.
void require_one_of(std::string_view who, std::string_view what, const std::string& value,
                    const std::vector<std::string>& known);

class ImageBatch {
 public:
  // InvalidArgument, naming `who`, unless `images` are (height, width, channels), with a batch axis
  // before or not; with 3 spatial axes, volumes: (depth, height, width, channels). An empty format
  // is "channels_last".
  ImageBatch(const Tensor& images, const std::string& data_format, std::string_view who,
             int64_t spatial_axes = 2);

  const Tensor& images() const { return images_; }  // (batch, height, width, channels)
  // Such a result, in the form that the images were given in.
  Tensor restored(const Tensor& result) const;

 private:
  Tensor images_;
  bool single_;
  bool channels_first_;
};

// InvalidArgument, naming `who`, unless the tensor has a floating-point dtype.
void require_floating_images(const Tensor& images, std::string_view who);

// What places among so many elements are counted in.
DType index_dtype(int64_t elements);

// Sums of x along an axis with the weights of a matrix (new size, size of the axis), in each row of
// which those that count lie together: a backend may pass over the others, which are 0.
Tensor weighted_axis(const Tensor& matrix, const Tensor& x, int64_t axis);

// Each channel of (batch, height, width, channels) with the products of these weights around a
// pixel: of rows, of columns. Zeros are put around images for the padding "same".
Tensor weighted_neighbours(const Tensor& images, const Tensor& row_weights,
                           const Tensor& column_weights, const std::string& padding);

// `size` weights of a mean, by distance from the middle; sigma: a scalar, in whose dtype they are.
Tensor gaussian_weights(const Tensor& sigma, int64_t size);

}  // namespace cornu::ops::internal
