// SPDX-License-Identifier: Apache-2.0
// Functions that move pixels (keras.ops.image); affine_transform and resize are in image.h, which
// also describes data formats. Gradients flow to images, and to coordinates where stated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops::image {

struct PerspectiveTransformOptions {
  std::string interpolation = "bilinear";  // or "nearest"
  double fill_value = 0.0;                 // value of pixels outside of the image
  std::string data_format = {};
};

// The images as seen when four points (x, y) of each are moved: (4, 2) for all images, or (batch,
// 4, 2). Shape and dtype are those of the images.
Tensor perspective_transform(const Tensor& images, const Tensor& start_points,
                             const Tensor& end_points,
                             const PerspectiveTransformOptions& options = {});

// The elements outside of abcd, by fill_mode: "constant" k k | a b c d | k k with k the fill_value,
// "nearest" a a | a b c d | d d, "wrap" c d | a b c d | a b, "mirror" c b | a b c d | c b, or
// "reflect" b a | a b c d | d c. (For coordinates below 0, and for "mirror", Keras's TensorFlow
// backend deviates from this, which is what Keras documents and its other backends compute.)

struct MapCoordinatesOptions {
  std::string fill_mode = "constant";
  double fill_value = 0.0;
};

// Returns the elements of `inputs` at coordinates (rank of the inputs, ...): (...), in the inputs'
// dtype. Order 0 takes the nearest element (halves go to the even index). Order 1 interpolates
// linearly between the nearest elements; gradients flow to the coordinates as well, and integers
// are rounded.
Tensor map_coordinates(const Tensor& inputs, const Tensor& coordinates, int64_t order,
                       const MapCoordinatesOptions& options = {});

struct ElasticTransformOptions {
  double alpha = 20.0;  // how many times the smoothed noise a pixel is moved
  double sigma = 5.0;   // standard deviation of the noise, and of the smoothing in pixels
  std::string interpolation = "bilinear";  // or "nearest"
  std::string fill_mode = "reflect";
  double fill_value = 0.0;
  Seed seed = {};
  std::string data_format = {};
};

// Moves the pixels of images at random, in the same way in all channels, and in nearly the same way
// for neighbors (Simard et al. 2003, "Best practices for convolutional neural networks applied to
// visual document analysis"). For floating-point dtypes. The noise is smoothed over the 2 * floor(3
// * sigma) + 1 nearest pixels along each axis; vertical and horizontal displacements are
// independent, which they aren't in Keras on TensorFlow.
Tensor elastic_transform(const Tensor& images, const ElasticTransformOptions& options = {});

// Returns images, or tensors of any rank, of `output_shape`, in which the element at x along
// spatial_dims[i] is moved to x * scale[i] + translation[i], with pixel centers at half-integers;
// zeros elsewhere. scale and translation have shape (number of spatial_dims,), and receive
// gradients, too; the other axes stay, and may be kUnknown in output_shape. method: "linear" (also
// "bilinear", "trilinear"), "cubic" ("bicubic", "tricubic"), "lanczos3" or "lanczos5". antialias:
// average over the elements that become one. Integers are rounded, and stay within the range of the
// input's values.
Tensor scale_and_translate(const Tensor& images, const Shape& output_shape, const Tensor& scale,
                           const Tensor& translation, const std::vector<int64_t>& spatial_dims,
                           const std::string& method, bool antialias = true);

}  // namespace cornu::ops::image

namespace cornu::ops::internal {

// From points (batch, 4, 2), computes (batch, 8): the parameters for affine_transform that map the
// ends to the starts.
Tensor perspectives(const Tensor& start_points, const Tensor& end_points);

// The random numbers of elastic transforms: for images (batch, height, width, channels), standard
// normal noise (batch, height, width), and scalars. sigma must not exceed what `window` allows: 2 *
// floor(3 * sigma) + 1 pixels.
struct ElasticNoise {
  Tensor right, down;
  Tensor alpha, sigma;
  int64_t window = 1;
};
Tensor displaced(const Tensor& images, const ElasticNoise& noise,
                 const image::ElasticTransformOptions& options);

}  // namespace cornu::ops::internal
