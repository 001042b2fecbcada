// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/image.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "framework/core/strings.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/matmul.h"
#include "framework/ops/shape.h"

namespace cornu::ops::image {

using namespace cornu::ops::internal;

namespace {

// With a batch axis; `single` images get one of size 1.
struct Batch {
  Tensor images;
  bool single;
  Tensor finished(const Tensor& result) const { return single ? squeeze(result, 0) : result; }
};

Batch batched(const Tensor& images, std::string_view who) {
  check<InvalidArgument>(images.rank() == 3 || images.rank() == 4,
                         "{}: expected images (height, width, channels) or (batch, height, width, "
                         "channels), got shape {}.",
                         who, images.shape());
  require_static(images, who);
  const bool single = images.rank() == 3;
  return {single ? expand_dims(images, 0) : images.strong(), single};
}

struct Kernel {
  double radius;
  double (*weight)(double);
};

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys, "Cubic convolution interpolation for digital image processing" (1981).
double cubic(double x) {
  const double a = std::abs(x);
  if (a >= 2) return 0;
  if (a >= 1) return ((-0.5 * a + 2.5) * a - 4) * a + 2;
  return (1.5 * a - 2.5) * a * a + 1;
}

template <int kRadius>
double lanczos(double x) {
  const double a = std::abs(x);
  if (a >= kRadius) return 0;
  if (a < 1e-12) return 1;
  const double angle = std::numbers::pi * a;
  return kRadius * std::sin(angle) * std::sin(angle / kRadius) / (angle * angle);
}

Kernel kernel_of(const std::string& interpolation) {
  if (interpolation == "bilinear") return {1, triangle};
  if (interpolation == "bicubic") return {2, cubic};
  return interpolation == "lanczos3" ? Kernel{3, lanczos<3>} : Kernel{5, lanczos<5>};
}

// How much each of `in` pixels counts in each of `out`: (out, in), rows that sum to 1.
Tensor weights(int64_t out, int64_t in, const Kernel& kernel, bool antialias, DType dtype) {
  Tensor matrix = Tensor::empty({out, in}, DType::Float64);
  const auto values = matrix.mutable_data<double>();
  const double ratio = static_cast<double>(in) / static_cast<double>(out);
  const double scale = antialias ? std::max(ratio, 1.0) : 1.0;
  for (int64_t row = 0; row < out; ++row) {
    const double center = (static_cast<double>(row) + 0.5) * ratio;
    double* at = values.data() + row * in;
    double total = 0;
    for (int64_t column = 0; column < in; ++column) {
      const double distance = static_cast<double>(column) + 0.5 - center;
      at[column] = std::abs(distance) < kernel.radius * scale ? kernel.weight(distance / scale) : 0;
      total += at[column];
    }
    for (int64_t column = 0; column < in; ++column) at[column] /= total;
  }
  return cast(matrix, dtype);
}

Tensor resized_axis(const Tensor& x, int64_t axis, int64_t size, const ResizeOptions& options) {
  if (options.interpolation == "nearest") {
    std::vector<int64_t> from;
    for (int64_t i = 0; i < size; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * static_cast<double>(x.dim(axis)) /
                            static_cast<double>(size);
      from.push_back(std::min(static_cast<int64_t>(center), x.dim(axis) - 1));
    }
    return take(x, Tensor::from(from), axis);
  }
  const Tensor matrix =
      weights(size, x.dim(axis), kernel_of(options.interpolation), options.antialias, x.dtype());
  // (before, axis, after), so that it is one product.
  const Shape before = x.shape().slice(0, axis);
  const Shape after = x.shape().slice(axis + 1);
  const Tensor rows = reshape(x, {before.num_elements(), x.dim(axis), after.num_elements()});
  return reshape(matmul(matrix, rows), before.concat({size}).concat(after));
}

// What the first of two sides has to be for the ratio of two others, cut as TensorFlow does.
int64_t in_ratio(int64_t side, int64_t target, int64_t target_side) {
  const auto exact = static_cast<float>(side * target) / static_cast<float>(target_side);
  return static_cast<int64_t>(exact);
}

Tensor cropped(const Tensor& x, int64_t height, int64_t width) {
  const int64_t rows = std::clamp<int64_t>(in_ratio(x.dim(2), height, width), 1, x.dim(1));
  const int64_t columns = std::clamp<int64_t>(in_ratio(x.dim(1), width, height), 1, x.dim(2));
  const int64_t top = (x.dim(1) - rows) / 2;
  const int64_t left = (x.dim(2) - columns) / 2;
  return slice_axis(slice_axis(x, 1, top, top + rows), 2, left, left + columns);
}

Tensor padded(const Tensor& x, int64_t height, int64_t width, double fill_value) {
  const int64_t rows = std::max(in_ratio(x.dim(2), height, width), x.dim(1));
  const int64_t columns = std::max(in_ratio(x.dim(1), width, height), x.dim(2));
  const int64_t vertical = (rows - x.dim(1)) / 2;
  const int64_t horizontal = (columns - x.dim(2)) / 2;
  return pad(x, {{0, 0}, {vertical, vertical}, {horizontal, horizontal}, {0, 0}}, fill_value);
}

}  // namespace

Tensor resize(const Tensor& images, std::pair<int64_t, int64_t> size,
              const ResizeOptions& options) {
  const std::vector<std::string> known = {"bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"};
  check<InvalidArgument>(std::count(known.begin(), known.end(), options.interpolation) > 0,
                         "resize: unknown interpolation '{}'.{}", options.interpolation,
                         did_you_mean(options.interpolation, known));
  check<InvalidArgument>(!options.crop_to_aspect_ratio || !options.pad_to_aspect_ratio,
                         "resize: expected at most one of crop_to_aspect_ratio and "
                         "pad_to_aspect_ratio.");
  const Batch batch = batched(images, "resize");
  const auto [height, width] = size;
  Tensor x = batch.images;
  check<InvalidArgument>(height > 0 && width > 0 && x.dim(1) > 0 && x.dim(2) > 0,
                         "resize: expected a size of at least (1, 1) and images with pixels, got "
                         "({}, {}) and shape {}.",
                         height, width, images.shape());
  if (options.interpolation != "nearest") x = to_floating(x);
  if (options.crop_to_aspect_ratio) x = cropped(x, height, width);
  if (options.pad_to_aspect_ratio) x = padded(x, height, width, options.fill_value);
  return batch.finished(resized_axis(resized_axis(x, 1, height, options), 2, width, options));
}

Tensor rgb_to_grayscale(const Tensor& images) {
  const int64_t channels = batched(images, "rgb_to_grayscale").images.dim(-1);
  check<InvalidArgument>(channels == 1 || channels == 3,
                         "rgb_to_grayscale: expected 3 channels (or 1), got shape {}.",
                         images.shape());
  if (channels == 1) return images.strong();
  const Tensor real = to_floating(images);
  const Tensor shares =
      cast(Tensor::from(std::vector<double>{0.2989, 0.5870, 0.1140}, {3, 1}), real.dtype());
  return cast(matmul(real, shares), images.dtype());
}

Tensor extract_patches(const Tensor& images, const Sizes& size,
                       const ExtractPatchesOptions& options) {
  const Batch batch = batched(images, "extract_patches");
  const std::vector<int64_t> window = size.spread(2, "extract_patches", "size");
  const std::vector<int64_t> strides =
      options.strides.given() ? options.strides.spread(2, "extract_patches", "strides") : window;
  const std::vector<int64_t> dilation =
      options.dilation_rate.spread(2, "extract_patches", "dilation_rate");
  const std::vector<int64_t> widths = options.padding.resolve(
      {batch.images.dim(1), batch.images.dim(2)}, window, strides, dilation, "extract_patches");
  const Tensor x =
      pad(batch.images, {{0, 0}, {widths[0], widths[1]}, {widths[2], widths[3]}, {0, 0}});
  std::vector<int64_t> counts = {x.dim(0), 0, 0, x.dim(3)};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t room = x.dim(static_cast<int64_t>(i) + 1) - (window[i] - 1) * dilation[i] - 1;
    check<InvalidArgument>(room >= 0,
                           "extract_patches: expected images of at least the patches' "
                           "size ({}, {}), got shape {}.",
                           window[0], window[1], images.shape());
    counts[i + 1] = room / strides[i] + 1;
  }
  std::vector<Tensor> parts;  // one for each place in a patch
  for (int64_t row = 0; row < window[0]; ++row) {
    for (int64_t column = 0; column < window[1]; ++column) {
      parts.push_back(slice(x, {0, row * dilation[0], column * dilation[1], 0}, counts,
                            {1, strides[0], strides[1], 1}));
    }
  }
  return batch.finished(concatenate(parts, -1));
}

}  // namespace cornu::ops::image
