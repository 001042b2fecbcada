// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "framework/ops/definition.h"
#include "framework/ops/image.h"
#include "framework/ops/image_batch.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops::image {

using namespace cornu::ops::internal;

namespace {

constexpr char kWho[] = "affine_transform";

void check_arguments(const Tensor& images, const Tensor& transform,
                     const AffineTransformOptions& options) {
  require_one_of(kWho, "interpolation", options.interpolation, {"bilinear", "nearest"});
  require_one_of(kWho, "fill_mode", options.fill_mode, {"constant", "nearest", "wrap", "reflect"});
  const int64_t count = images.dim(0);
  const Shape& shape = transform.shape();
  check<InvalidArgument>(shape == Shape{8} || shape == Shape{1, 8} || shape == Shape{count, 8},
                         "{}: expected a transform of shape (8,), or ({}, 8) for one each, got {}.",
                         kWho, count, shape);
}

// The position to read along an axis of `size` pixels, also for positions beyond its ends, as in
// TensorFlow's ImageProjectiveTransformV3.
Tensor within_axis(const Tensor& place, int64_t size, const std::string& fill_mode) {
  if (fill_mode == "constant") return place;
  const auto length = static_cast<double>(size);
  Tensor inside = place;
  if (size > 1 && fill_mode == "reflect") {
    // -1 reads 0, -2 reads 1, …: the distance from -1/2, there and back again.
    const Tensor from_end = where(place < 0, -place - 1, place);
    const Tensor turned = from_end - floor(from_end / (2 * length)) * (2 * length);
    inside = where(turned >= length, 2 * length - turned - 1, turned);
    inside = where((place >= 0) & (place <= length - 1), place, inside);
  } else if (size > 1 && fill_mode == "wrap") {
    const Tensor left = place + (floor(-place / (length - 1)) + 1) * length;
    const Tensor right = place - floor(place / (length - 1)) * length;
    inside = where(place < 0, left, where(place > length - 1, right, place));
  }
  return clip(inside, 0, length - 1);
}

// Images (batch, height, width, channels) as rows of channels, to be looked up by position.
class Pixels {
 public:
  Pixels(const Tensor& images, double fill_value)
      : count_(images.dim(0)),
        height_(images.dim(1)),
        width_(images.dim(2)),
        index_(index_dtype(images.num_elements())),
        rows_(reshape(images, {count_ * height_ * width_, images.dim(3)})),
        fill_value_(cast(Tensor(fill_value), images.dtype())) {}

  // The pixels at integer positions (batch or 1, height, width); the fill value outside.
  Tensor at(const Tensor& y, const Tensor& x) const {
    const auto bottom = static_cast<double>(height_ - 1);
    const auto right = static_cast<double>(width_ - 1);
    const Tensor inside = (y >= 0) & (y <= bottom) & (x >= 0) & (x <= right);
    const Tensor image = reshape(arange(0, count_, 1, index_), {count_, 1, 1});
    const Tensor row = cast(where(inside, y, 0), index_);
    const Tensor column = cast(where(inside, x, 0), index_);
    const Tensor found = take(rows_, (image * height_ + row) * width_ + column, 0);
    return where(expand_dims(inside, 3), found, fill_value_);
  }
  const Tensor& fill_value() const { return fill_value_; }

 private:
  int64_t count_;
  int64_t height_;
  int64_t width_;
  DType index_;
  Tensor rows_;
  Tensor fill_value_;
};

Tensor interpolated(const Pixels& pixels, const Tensor& y, const Tensor& x, DType dtype) {
  const Tensor top = floor(y);
  const Tensor left = floor(x);
  const auto mix = [&](const Tensor& a, const Tensor& b, const Tensor& share) {
    const Tensor weight = cast(expand_dims(share, 3), dtype);
    return a * (1 - weight) + b * weight;
  };
  const Tensor upper = mix(pixels.at(top, left), pixels.at(top, left + 1), x - left);
  const Tensor lower = mix(pixels.at(top + 1, left), pixels.at(top + 1, left + 1), x - left);
  return mix(upper, lower, y - top);
}

// Transforms (batch, height, width, channels) by (batch or 1, 8).
Tensor transformed_pixels(const Tensor& images, const Tensor& transform,
                          const AffineTransformOptions& options) {
  const int64_t height = images.dim(1);
  const int64_t width = images.dim(2);
  const Tensor numbers = cast(transform, DType::Float32);
  const auto number = [&](int64_t i) {
    return reshape(slice_axis(numbers, 1, i, i + 1), {numbers.dim(0), 1, 1});
  };
  const Tensor x =
      reshape(arange(0.0, static_cast<double>(width), 1.0, DType::Float32), {1, 1, width});
  const Tensor y =
      reshape(arange(0.0, static_cast<double>(height), 1.0, DType::Float32), {1, height, 1});
  const Tensor k = number(6) * x + number(7) * y + 1;
  const Tensor nowhere = k == 0;
  const Tensor divisor = where(nowhere, 1, k);
  const Tensor from_x =
      within_axis((number(0) * x + number(1) * y + number(2)) / divisor, width, options.fill_mode);
  const Tensor from_y =
      within_axis((number(3) * x + number(4) * y + number(5)) / divisor, height, options.fill_mode);
  const bool nearest = options.interpolation == "nearest";
  const bool as_it_is = nearest || images.dtype() == DType::Float64;
  const DType dtype = as_it_is ? images.dtype() : DType::Float32;
  const Pixels pixels(cast(images, dtype), options.fill_value);
  // Halves are rounded away from 0.
  const Tensor result = nearest ? pixels.at(sign(from_y) * floor(abs(from_y) + 0.5),
                                            sign(from_x) * floor(abs(from_x) + 0.5))
                                : interpolated(pixels, from_y, from_x, dtype);
  return cast(where(expand_dims(nowhere, 3), pixels.fill_value(), result), images.dtype());
}

}  // namespace

Tensor affine_transform(const Tensor& images, const Tensor& transform,
                        const AffineTransformOptions& options) {
  return as_whole(kWho, {images, transform}, [options](const std::vector<Tensor>& in) {
    const ImageBatch batch(in[0], options.data_format, kWho);
    const Tensor& x = batch.images();
    check_arguments(x, in[1], options);
    if (x.num_elements() == 0) return in[0].strong();
    const Tensor numbers = reshape(in[1], {in[1].num_elements() / 8, 8});
    return batch.restored(
        at_once<"affine_transform">({x, numbers},
                                    {{"interpolation", options.interpolation},
                                     {"fill_mode", options.fill_mode},
                                     {"fill_value", static_cast<double>(options.fill_value)}},
                                    [&](const std::vector<Tensor>& now) {
                                      return transformed_pixels(now[0], now[1], options);
                                    }));
  });
}

}  // namespace cornu::ops::image
