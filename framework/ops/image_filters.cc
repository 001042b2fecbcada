// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/image_filters.h"

#include <cmath>
#include <vector>

#include "framework/ops/conv.h"
#include "framework/ops/definition.h"
#include "framework/ops/image_batch.h"
#include "framework/ops/indexing.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops::image {

using namespace cornu::ops::internal;

namespace {

constexpr int64_t kMaxPixels = 100'000;  // maximum averaged along an axis

// Repeats the rows (columns) next to the border beyond it.
Tensor with_reflected_border(const Tensor& x, int64_t axis) {
  const int64_t size = x.dim(axis);
  return concatenate({slice_axis(x, axis, 1, 2), x, slice_axis(x, axis, size - 2, size - 1)}, axis);
}

Tensor edges_of(const Tensor& images, const std::string& data_format) {
  const ImageBatch batch(images, data_format, "sobel_edges");
  const Tensor& x = batch.images();
  check<InvalidArgument>(x.dim(1) >= 2 && x.dim(2) >= 2,
                         "sobel_edges: expected images of at least 2 x 2 pixels, got shape {}.",
                         images.shape());
  const Tensor bordered = with_reflected_border(with_reflected_border(x, 1), 2);
  const DType dtype = x.dtype();
  const Tensor change = cast(Tensor::from<double>({-1, 0, 1}), dtype);
  const Tensor mean = cast(Tensor::from<double>({1, 2, 1}), dtype);
  return stack({batch.restored(weighted_neighbours(bordered, change, mean, "valid")),
                batch.restored(weighted_neighbours(bordered, mean, change, "valid"))},
               -1);
}

void check_alike(const Tensor& image1, const Tensor& image2, const SsimOptions& options) {
  require_defined(image1, "ssim");
  require_defined(image2, "ssim");
  check<InvalidArgument>(image1.shape() == image2.shape(),
                         "ssim: expected images of one shape, got {} and {}.", image1.shape(),
                         image2.shape());
  check<InvalidArgument>(options.filter_size > 0 && options.filter_sigma > 0,
                         "ssim: expected a filter_size of at least 1 and a filter_sigma above 0, "
                         "got {} and {}.",
                         options.filter_size, options.filter_sigma);
}

Tensor similarity(const Tensor& image1, const Tensor& image2, const SsimOptions& options) {
  const ImageBatch batch(to_floating(image1), options.data_format, "ssim");
  const Tensor& x = batch.images();
  const Tensor y = cast(ImageBatch(image2, options.data_format, "ssim").images(), x.dtype());
  check<InvalidArgument>(x.dim(1) >= options.filter_size && x.dim(2) >= options.filter_size,
                         "ssim: expected images of at least filter_size ({}) pixels along each "
                         "axis, got shape {}.",
                         options.filter_size, image1.shape());
  const Tensor sigma = constant_like(x, options.filter_sigma);
  const Tensor weights = gaussian_weights(sigma, options.filter_size);
  const std::vector<Tensor> means = split(
      weighted_neighbours(concatenate({x, y, x * x, y * y, x * y}, -1), weights, weights, "valid"),
      5, -1);
  const Tensor &mean_x = means[0], &mean_y = means[1];
  const Tensor squares = mean_x * mean_x + mean_y * mean_y;
  const Tensor product = mean_x * mean_y;
  const double c1 = options.k1 * options.max_val * options.k1 * options.max_val;
  const double c2 = options.k2 * options.max_val * options.k2 * options.max_val;
  const Tensor alike = (2 * product + c1) * (2 * (means[4] - product) + c2);
  const Tensor result =
      mean(alike / ((squares + c1) * (means[2] + means[3] - squares + c2)), {1, 2, 3});
  return cast(image1.rank() == 3 ? squeeze(result, 0) : result, image1.dtype());
}

// Checks sigma if its value is known.
void check_sigma(const Tensor& sigma) {
  if (sigma.is_symbolic()) return;
  const Tensor known = sigma.host();  // not an op: a trace would record it
  dispatch_dtype(known.dtype(), [&]<class T>(T) {
    for (const T& value : known.data<T>()) {
      const auto number = static_cast<float>(value);
      check<InvalidArgument>(number > 0 && std::isfinite(number),
                             "gaussian_blur: expected a sigma above 0, got {}.", number);
    }
  });
}

}  // namespace

Tensor gaussian_blur(const Tensor& images, const GaussianBlurOptions& options) {
  require_floating_images(images, "gaussian_blur");
  const ImageBatch batch(images, options.data_format, "gaussian_blur");
  const std::vector<int64_t> size = options.kernel_size.spread(2, "gaussian_blur", "kernel_size");
  for (const int64_t pixels : size) {
    check<InvalidArgument>(pixels <= kMaxPixels,
                           "gaussian_blur: expected a kernel_size of at most {}, got {}.",
                           kMaxPixels, pixels);
  }
  const Shape& shape = options.sigma.shape();
  check<InvalidArgument>(shape == Shape{} || shape == Shape{2},
                         "gaussian_blur: expected a sigma of shape () or (2,), got {}.", shape);
  check_sigma(options.sigma);
  const Tensor sigma = cast(options.sigma, promote(images.dtype(), DType::Float32));
  const auto weights = [&](int64_t axis) {
    return gaussian_weights(sigma.rank() == 0 ? sigma : sigma[axis],
                            size[static_cast<size_t>(axis)]);
  };
  return batch.restored(weighted_neighbours(batch.images(), weights(1), weights(0), "same"));
}

Tensor sobel_edges(const Tensor& images, const std::string& data_format) {
  require_floating_images(images, "sobel_edges");
  check<InvalidArgument>(images.rank() == 4,
                         "sobel_edges: expected a batch of images, of 4 axes, got shape {}.",
                         images.shape());
  return as_whole(
      "sobel_edges", {images},
      [data_format](const std::vector<Tensor>& in) { return edges_of(in[0], data_format); }, 1);
}

Tensor ssim(const Tensor& image1, const Tensor& image2, const SsimOptions& options) {
  check_alike(image1, image2, options);
  return as_whole(
      "ssim", {image1, image2},
      [options](const std::vector<Tensor>& in) { return similarity(in[0], in[1], options); }, 1);
}

}  // namespace cornu::ops::image
