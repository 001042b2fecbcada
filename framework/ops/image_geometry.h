// SPDX-License-Identifier: Apache-2.0
// What moves pixels (keras.ops.image); affine_transform and resize are in image.h, as are data
// formats. Gradients flow to images, and to coordinates where they say so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops::image {

struct PerspectiveTransformOptions {
  std::string interpolation = "bilinear";  // or "nearest"
  double fill_value = 0.0;                 // of what lies outside
  std::string data_format = {};
};

// Images as they are seen when four points (x, y) of each are moved: (4, 2) for all, or (batch, 4,
// 2). Shape and dtype are the images'.
Tensor perspective_transform(const Tensor& images, const Tensor& start_points,
                             const Tensor& end_points,
                             const PerspectiveTransformOptions& options = {});

// What lies outside of abcd, by fill_mode: "constant" k k | a b c d | k k with k the fill_value,
// "nearest" a a | a b c d | d d, "wrap" c d | a b c d | a b, "mirror" c b | a b c d | c b, or
// "reflect" b a | a b c d | d c. (Of coordinates below 0, and of "mirror", Keras's TensorFlow
// backend gives something else than this, which it documents and its other backends compute.)

struct MapCoordinatesOptions {
  std::string fill_mode = "constant";
  double fill_value = 0.0;
};

// The elements of `inputs` at coordinates (rank of the inputs, ...): (...) of the inputs' dtype. Of
// order 0, the nearest one (halves go to the even place); of order 1, linear between the nearest
// ones, and gradients flow to coordinates too; integers are rounded then.
Tensor map_coordinates(const Tensor& inputs, const Tensor& coordinates, int64_t order,
                       const MapCoordinatesOptions& options = {});

struct ElasticTransformOptions {
  double alpha = 20.0;  // how many times the smoothed noise a pixel is moved
  double sigma = 5.0;   // the noise's standard deviation, and in pixels that of the smoothing
  std::string interpolation = "bilinear";  // or "nearest"
  std::string fill_mode = "reflect";
  double fill_value = 0.0;
  Seed seed = {};
  std::string data_format = {};
};

// Images with their pixels moved at random, alike in all channels, neighbours in nearly the same
// way (Simard et al. 2003, "Best practices for convolutional neural networks applied to visual
// document analysis"). Of a floating-point dtype. Smoothed over the 2 * floor(3 * sigma) + 1
// nearest pixels of each axis; down and to the right are independent, which they aren't in Keras on
// TensorFlow.
Tensor elastic_transform(const Tensor& images, const ElasticTransformOptions& options = {});

// Images, or tensors of any rank, of `output_shape`, in which what was at x along spatial_dims[i]
// is at x * scale[i] + translation[i], by pixels whose centers are at halves; zeros where nothing
// was. scale and translation have shape (number of spatial_dims,), and gradients, too; the other
// axes stay, and may be kUnknown in output_shape. method: "linear" (also "bilinear", "trilinear"),
// "cubic" ("bicubic", "tricubic"), "lanczos3" or "lanczos5". antialias: average over what becomes
// one pixel. Integers are rounded, within the values that there were.
Tensor scale_and_translate(const Tensor& images, const Shape& output_shape, const Tensor& scale,
                           const Tensor& translation, const std::vector<int64_t>& spatial_dims,
                           const std::string& method, bool antialias = true);

}  // namespace cornu::ops::image

namespace cornu::ops::internal {

// Elastic transforms whose numbers are drawn: for images (batch, height, width, channels), standard
// normal noise (batch, height, width), and scalars. sigma is at most what `window` is for: 2 *
// floor(3 * sigma) + 1 pixels.
struct ElasticNoise {
  Tensor right, down;
  Tensor alpha, sigma;
  int64_t window = 1;
};
Tensor displaced(const Tensor& images, const ElasticNoise& noise,
                 const image::ElasticTransformOptions& options);

}  // namespace cornu::ops::internal
