// SPDX-License-Identifier: Apache-2.0
#include "layers/data_format.h"

#include <algorithm>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

// The number of spatial axes of a tensor of `rank`; 0 if it has none.
int64_t spatial_axes(int64_t rank, int axes) {
  const int64_t wanted = axes == 0 ? std::max<int64_t>(rank - 2, 0) : axes;
  return rank >= wanted + 2 ? wanted : 0;
}

Tensor move_axis(const Tensor& x, int64_t from, int64_t to) {
  const Tensor moved = ops::moveaxis(x, from, to);
  return x.mask().defined() ? moved.with_mask(x.mask()) : moved;
}

}  // namespace

std::string check_data_format(const std::string& who, const std::string& data_format) {
  if (data_format.empty()) return "channels_last";
  const std::string lower = lower_case(data_format);
  const std::vector<std::string> known = {"channels_last", "channels_first"};
  check<InvalidArgument>(std::find(known.begin(), known.end(), lower) != known.end(),
                         "{}: unknown data_format '{}'.{}", who, data_format,
                         did_you_mean(lower, known));
  return lower;
}

Shape to_channels_last(const Shape& shape, int axes) {
  const int64_t spatial = spatial_axes(shape.rank(), axes);
  if (spatial == 0) return shape;
  const int64_t channels = shape.rank() - spatial - 1;
  return shape.slice(0, channels).concat(shape.slice(channels + 1)).concat({shape[channels]});
}

Tensor to_channels_last(const Tensor& x, int axes) {
  const int64_t spatial = spatial_axes(x.rank(), axes);
  return spatial == 0 ? x : move_axis(x, -1 - spatial, -1);
}

Tensor to_channels_first(const Tensor& x, int axes) {
  const int64_t spatial = spatial_axes(x.rank(), axes);
  return spatial == 0 ? x : move_axis(x, -1, -1 - spatial);
}

}  // namespace cornu::layers
