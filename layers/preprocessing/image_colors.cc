// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/image_colors.h"

#include <vector>

#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

constexpr Bounds kUnit = {0, 1};
constexpr Bounds kBytes = {0, 255};

Tensor within(const Tensor& images, const Bounds& range) {
  return ops::clip(images, range.lower, range.upper);
}

}  // namespace

Tensor rescale(const Tensor& images, const Bounds& from, const Bounds& to) {
  if (from.lower == to.lower && from.upper == to.upper) return images;
  return (images - from.lower) / (from.upper - from.lower) * (to.upper - to.lower) + to.lower;
}

Tensor adjust_hue(const Tensor& images, const Tensor& turn, const Bounds& range) {
  const std::vector<Tensor> parts =
      ops::split(ops::image::rgb_to_hsv(rescale(images, range, kUnit)), 3, -1);
  Tensor hue = parts[0] + ops::cast(turn, images.dtype());
  hue = ops::where(hue > 1, hue - 1, hue);
  hue = ops::where(hue < 0, hue + 1, hue);
  const Tensor turned = ops::image::hsv_to_rgb(ops::concatenate({hue, parts[1], parts[2]}, -1));
  return rescale(within(turned, kUnit), kUnit, range);
}

Tensor saturation_factors(const Tensor& drawn) {
  constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()
  return drawn / (1 - drawn + kEpsilon);
}

Tensor adjust_saturation(const Tensor& images, const Tensor& factor, const Bounds& range) {
  const std::vector<Tensor> parts = ops::split(ops::image::rgb_to_hsv(images), 3, -1);
  const Tensor saturation = within(parts[1] * ops::cast(factor, images.dtype()), range);
  return ops::image::hsv_to_rgb(ops::concatenate({parts[0], saturation, parts[2]}, -1));
}

Tensor degenerate_colors(const Tensor& images, const Tensor& factor, const Bounds& range) {
  const Tensor gray = ops::image::rgb_to_grayscale(images);
  return within(images + ops::cast(factor, images.dtype()) * (gray - images), range);
}

Tensor sharpen(const Tensor& images, const Tensor& factor, const Bounds& range) {
  const double around = 1.0 / 13, middle = 5.0 / 13;
  const Tensor weights =
      ops::reshape(ops::cast(Tensor::from<double>({around, around, around, around, middle, around,
                                                   around, around, around}),
                             images.dtype()),
                   {3, 3, 1, 1});
  const Tensor kernel = ops::tile(weights, {1, 1, images.dim(3), 1});
  const Tensor smooth = ops::depthwise_conv(images, kernel, {.padding = "same"});
  const Tensor towards = 1 - 2 * ops::cast(factor, images.dtype());
  return within(images + towards * (smooth - images), range);
}

Tensor posterize(const Tensor& images, const Tensor& bits, const Bounds& range) {
  const Tensor steps = Tensor::from<float>({256, 128, 64, 32, 16, 8, 4, 2, 1});
  const Tensor step = ops::cast(ops::take(steps, bits), images.dtype());
  const Tensor bytes = ops::floor(within(rescale(images, range, kBytes), kBytes));
  return rescale(ops::floor(bytes / step) * step, kBytes, range);
}

Tensor solarize(const Tensor& images, const Tensor& addition, const Tensor& threshold,
                const Bounds& range) {
  const DType dtype = images.dtype();
  const Tensor added = within(rescale(images, range, kBytes) + ops::cast(addition, dtype), kBytes);
  const Tensor result = ops::where(added < ops::cast(threshold, dtype), added, 255 - added);
  return rescale(result, kBytes, range);
}

Tensor stretch_contrast(const Tensor& images, const Bounds& range) {
  const Tensor bytes = rescale(images, range, kBytes);
  const Tensor low = ops::min(bytes, {1, 2}, true);
  const Tensor width = ops::max(bytes, {1, 2}, true) - low;
  const Tensor varied = width > 0;
  const Tensor scale = 255 / ops::where(varied, width, ops::ones_like(width));
  const Tensor result = rescale(within((bytes - low) * scale, kBytes), kBytes, range);
  return ops::where(varied, result, images);
}

Tensor equalize(const Tensor& images, int64_t bins, const Bounds& range) {
  const int64_t channels = images.dim(3);
  const Tensor bytes = rescale(images, range, kBytes);
  // Histogram bins of all channels, one channel after another.
  const Tensor first = ops::arange(0, channels, 1, DType::Int32) * bins;
  const Tensor scaled = ops::cast(bytes, DType::Float32);
  const auto last = static_cast<double>(bins - 1);
  const Tensor counted = ops::cast(ops::clip(scaled * last / 255, 0, last), DType::Int32);
  const Tensor ids = ops::reshape(counted + first, {-1});
  const Tensor counts =
      ops::reshape(ops::segment_sum(ops::ones_like(ids), ids, channels * bins), {channels, bins});

  const Tensor sums = ops::cast(ops::cumsum(counts, 1), DType::Float32);
  const Tensor total = ops::max(sums, 1, true);
  const Tensor least = ops::min(ops::where(sums > 0, sums, total), 1, true);
  const Tensor rest = total - least;
  const Tensor several = rest > 0;
  const Tensor table =
      ops::round((sums - least) * 255 / ops::where(several, rest, ops::ones_like(rest)));
  const Tensor places = ops::cast(ops::clip(scaled / 255 * last, 0, last), DType::Int32);
  const Tensor equal = ops::take(ops::reshape(ops::clip(table, 0, 255), {-1}), places + first);
  const Tensor result =
      ops::where(ops::reshape(several, {channels}), ops::cast(equal, images.dtype()), bytes);
  return rescale(result, kBytes, range);
}

}  // namespace cornu::layers
