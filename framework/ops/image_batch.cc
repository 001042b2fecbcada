// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/image_batch.h"

#include <algorithm>

#include "framework/core/strings.h"
#include "framework/ops/conv.h"
#include "framework/ops/definition.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"

namespace cornu::ops::internal {

void require_one_of(std::string_view who, std::string_view what, const std::string& value,
                    const std::vector<std::string>& known) {
  check<InvalidArgument>(std::count(known.begin(), known.end(), value) > 0,
                         "{}: unknown {} '{}'.{}", who, what, value, did_you_mean(value, known));
}

void require_floating_images(const Tensor& images, std::string_view who) {
  require_defined(images, who);
  check<InvalidArgument>(is_floating(images.dtype()),
                         "{}: expected images of a floating-point dtype, got {} of shape {}. Cast "
                         "them first, for example with ops::cast(x, DType::Float32).",
                         who, images.dtype(), images.shape());
}

ImageBatch::ImageBatch(const Tensor& images, const std::string& data_format, std::string_view who,
                       int64_t spatial_axes)
    : single_(images.defined() && images.rank() == spatial_axes + 1),
      channels_first_(data_format == "channels_first") {
  require_defined(images, who);
  if (!data_format.empty()) {
    require_one_of(who, "data_format", data_format, {"channels_last", "channels_first"});
  }
  const std::string spatial = spatial_axes == 2 ? "height, width" : "depth, height, width";
  const std::string axes = channels_first_ ? "channels, " + spatial : spatial + ", channels";
  check<InvalidArgument>(single_ || images.rank() == spatial_axes + 2,
                         "{}: expected {} ({}) or (batch, {}), got shape {}.", who,
                         spatial_axes == 2 ? "images" : "volumes", axes, axes, images.shape());
  images_ = single_ ? expand_dims(images, 0) : images.strong();
  if (channels_first_) images_ = moveaxis(images_, 1, -1);
}

Tensor ImageBatch::restored(const Tensor& result) const {
  const Tensor moved = channels_first_ ? moveaxis(result, images_.rank() - 1, 1) : result;
  return single_ ? squeeze(moved, 0) : moved;
}

Tensor weighted_axis(const Tensor& matrix, const Tensor& x, int64_t axis) {
  // As (before, axis, after), so that it is a single product.
  const Shape before = x.shape().slice(0, axis);
  const Shape after = x.shape().slice(axis + 1);
  const Tensor rows = reshape(x, {before.num_elements(), x.dim(axis), after.num_elements()});
  const Tensor sums = call<"matmul">(
      {matrix, rows}, {{"transpose_a", false}, {"transpose_b", false}, {"banded", true}});
  return reshape(sums, before.concat({matrix.dim(0)}).concat(after));
}

Tensor weighted_neighbours(const Tensor& images, const Tensor& row_weights,
                           const Tensor& column_weights, const std::string& padding) {
  const int64_t rows = row_weights.dim(0), columns = column_weights.dim(0);
  const auto filtered = [&](const Tensor& x, const Tensor& weights, int64_t height, int64_t width) {
    const Tensor kernel = reshape(cast(weights, images.dtype()), {height, width, 1, 1});
    return depthwise_conv(x, tile(kernel, {1, 1, images.dim(3), 1}), {.padding = padding});
  };
  // By rows, then by columns, if that saves half of the multiplications.
  const Checked height(rows, "weighted_neighbours");
  if (2 * (height + columns) <= height * columns) {
    return filtered(filtered(images, row_weights, rows, 1), column_weights, 1, columns);
  }
  return filtered(images, expand_dims(row_weights, 1) * column_weights, rows, columns);
}

Tensor gaussian_weights(const Tensor& sigma, int64_t size) {
  const Tensor away = arange(0.0, static_cast<double>(size), 1.0, sigma.dtype()) -
                      static_cast<double>(size - 1) / 2;
  const Tensor weights = exp(-0.5 * square(away / sigma));
  return weights / sum(weights);
}

}  // namespace cornu::ops::internal
