// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/image_geometry.h"

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "framework/ops/definition.h"
#include "framework/ops/image.h"
#include "framework/ops/image_batch.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/random.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/solve.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace cornu::ops::internal;

namespace {

const std::vector<std::string> kFillModes = {"constant", "nearest", "wrap", "mirror", "reflect"};

// ---- elements by coordinates ----

// Positions along one axis, integers in [0, size), with the weights of the elements there.
struct Place {
  Tensor index;   // of index_dtype()
  Tensor inside;  // bool; undefined: everywhere
  Tensor weight;  // undefined: 1
};

// Maps integer positions that may be outside of the axis.
Place place_at(const Tensor& at, int64_t size, const std::string& fill_mode, DType dtype) {
  const auto length = static_cast<double>(size);
  const auto turned = [&](double period) { return at - floor(at / period) * period; };
  Tensor within = at;
  Place place;
  if (fill_mode == "constant") {
    place.inside = (at >= 0) & (at < length);
  } else if (fill_mode == "wrap") {
    within = turned(length);
  } else if (fill_mode == "reflect") {
    const Tensor once = turned(2 * length);
    within = where(once < length, once, 2 * length - 1 - once);
  } else if (fill_mode == "mirror" && size > 1) {
    const Tensor once = turned(2 * length - 2);
    within = where(once < length, once, 2 * length - 2 - once);
  }
  // Only valid indices are cast to an index dtype.
  const Tensor safe = where(isfinite(within), within, 0);
  place.index = cast(clip(safe, 0, length - 1), dtype);
  return place;
}

std::vector<Place> places_at(const Tensor& coordinate, int64_t size, int64_t order,
                             const std::string& fill_mode, DType dtype) {
  if (order == 0) return {place_at(round(coordinate), size, fill_mode, dtype)};
  const Tensor below = floor(coordinate);
  std::vector<Place> places = {place_at(below, size, fill_mode, dtype),
                               place_at(below + 1, size, fill_mode, dtype)};
  places[1].weight = coordinate - below;
  places[0].weight = 1 - places[1].weight;
  return places;
}

// A table of elements, or of rows of them, in the order of axes with these sizes.
struct Elements {
  Tensor rows;  // (all, ...)
  std::vector<int64_t> sizes;
  Tensor first;  // offset added to positions in the table; undefined: none
};

// The sum over all nearest elements, in `dtype` if they have weights.
Tensor mixed(const Elements& elements, const std::vector<std::vector<Place>>& axes, DType dtype,
             const Tensor& fill_value) {
  const auto widened = [&](const Tensor& x) {
    return elements.rows.rank() == 1 ? x : expand_dims(x, -1);
  };
  size_t corners = 1;
  for (const std::vector<Place>& places : axes) corners *= places.size();
  Tensor total;
  for (size_t corner = 0; corner < corners; ++corner) {
    size_t rest = corner;
    Tensor index = elements.first, inside, weight;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      const Place& place = axes[axis][rest % axes[axis].size()];
      rest /= axes[axis].size();
      index =
          axis == 0 && !index.defined() ? place.index : index * elements.sizes[axis] + place.index;
      if (place.inside.defined()) inside = inside.defined() ? inside & place.inside : place.inside;
      if (place.weight.defined()) weight = weight.defined() ? weight * place.weight : place.weight;
    }
    Tensor found = take(elements.rows, index, 0);
    if (inside.defined()) found = where(widened(inside), found, fill_value);
    if (weight.defined()) found = cast(found, dtype) * widened(cast(weight, dtype));
    total = total.defined() ? total + found : found;
  }
  return total;
}

Tensor mapped(const Tensor& inputs, const Tensor& coordinates, int64_t order,
              const image::MapCoordinatesOptions& options) {
  check<InvalidArgument>(inputs.num_elements() > 0 || coordinates.num_elements() == 0,
                         "map_coordinates: expected inputs with elements, got shape {}.",
                         inputs.shape());
  const DType of_places = is_floating(coordinates.dtype())
                              ? promote(coordinates.dtype(), DType::Float32)
                              : DType::Float64;
  const DType dtype = is_floating(inputs.dtype()) ? promote(inputs.dtype(), of_places) : of_places;
  const std::vector<Tensor> numbers = unstack(cast(coordinates, of_places), 0);
  Elements elements = {reshape(inputs, {inputs.num_elements()}), {}, {}};
  std::vector<std::vector<Place>> axes;
  for (int64_t axis = 0; axis < inputs.rank(); ++axis) {
    elements.sizes.push_back(inputs.dim(axis));
    axes.push_back(places_at(numbers[static_cast<size_t>(axis)], inputs.dim(axis), order,
                             options.fill_mode, index_dtype(inputs.num_elements())));
  }
  const Tensor result = mixed(elements, axes, dtype, constant_like(inputs, options.fill_value));
  const bool rounds = order == 1 && is_integer(inputs.dtype());
  return cast(rounds ? round(result) : result, inputs.dtype());
}

}  // namespace

namespace internal {

Tensor displaced(const Tensor& images, const ElasticNoise& noise,
                 const image::ElasticTransformOptions& options) {
  const DType dtype = promote(images.dtype(), DType::Float32);
  const int64_t batch = images.dim(0), height = images.dim(1), width = images.dim(2);
  if (images.num_elements() == 0) return images;
  const Tensor alpha = cast(noise.alpha, dtype), sigma = cast(noise.sigma, dtype);
  const auto middle = static_cast<double>(noise.window / 2);
  const Tensor away = arange(0.0, static_cast<double>(noise.window), 1.0, dtype) - middle;
  // Without smoothing, only the pixel itself has weight.
  const Tensor weights =
      where(abs(away) <= 3 * sigma, exp(-0.5 * square(away / maximum(sigma, 1e-6))), 0);
  const Tensor shares = weights / sum(weights);
  const auto shift = [&](const Tensor& numbers) {
    const Tensor field = expand_dims(cast(numbers, dtype) * sigma, -1);
    return alpha * squeeze(weighted_neighbours(field, shares, shares, "same"), -1);
  };
  const auto line = [&](int64_t size, const Shape& shape) {
    return reshape(arange(0.0, static_cast<double>(size), 1.0, dtype), shape);
  };
  const int64_t order = options.interpolation == "nearest" ? 0 : 1;
  const DType counted = index_dtype(images.num_elements());
  const Tensor first = reshape(arange(0, batch, 1, counted), {batch, 1, 1});
  const Tensor rows = reshape(images, {batch * height * width, images.dim(3)});
  const Tensor result = mixed({rows, {height, width}, first},
                              {places_at(line(height, {1, height, 1}) + shift(noise.down), height,
                                         order, options.fill_mode, counted),
                               places_at(line(width, {1, 1, width}) + shift(noise.right), width,
                                         order, options.fill_mode, counted)},
                              dtype, constant_like(images, options.fill_value));
  return cast(result, images.dtype());
}

}  // namespace internal

namespace internal {

Tensor perspectives(const Tensor& start_points, const Tensor& end_points) {
  // Two equations per point, linear in the eight parameters of the transform.
  const Tensor x = slice_axis(end_points, 2, 0, 1);
  const Tensor y = slice_axis(end_points, 2, 1, 2);
  const Tensor start_x = slice_axis(start_points, 2, 0, 1);
  const Tensor start_y = slice_axis(start_points, 2, 1, 2);
  const Tensor one = ones_like(x);
  const Tensor zero = zeros_like(x);
  const Tensor of_x = concatenate({x, y, one, zero, zero, zero, -start_x * x, -start_x * y}, 2);
  const Tensor of_y = concatenate({zero, zero, zero, x, y, one, -start_y * x, -start_y * y}, 2);
  const Tensor right = squeeze(concatenate({start_x, start_y}, 1), 2);
  return solve_for("perspective_transform, where no three points may lie on one line",
                   concatenate({of_x, of_y}, 1), right);
}

}  // namespace internal

namespace {

// ---- scaling ----

Tensor triangle_at(const Tensor& x) { return maximum(1 - x, 0); }

Tensor cubic_at(const Tensor& x) {
  const Tensor near = ((1.5 * x - 2.5) * x) * x + 1;
  const Tensor far = ((-0.5 * x + 2.5) * x - 4) * x + 2;
  return where(x >= 2, 0, where(x >= 1, far, near));
}

Tensor lanczos_at(const Tensor& x, double radius) {
  constexpr double kPi = std::numbers::pi;
  const Tensor angle = kPi * where(x > 1e-3, x, 1);
  const Tensor wave = radius * sin(angle) * sin(angle / radius) / square(angle);
  return where(x > radius, 0, where(x > 1e-3, wave, 1));
}

std::function<Tensor(const Tensor&)> weight_function(const std::string& method) {
  require_one_of("scale_and_translate", "method", method,
                 {"linear", "bilinear", "trilinear", "triangle", "cubic", "bicubic", "tricubic",
                  "lanczos3", "lanczos5"});
  if (method.ends_with("cubic")) return cubic_at;
  if (!method.starts_with("lanczos")) return triangle_at;
  return [radius = method == "lanczos3" ? 3.0 : 5.0](const Tensor& x) {
    return lanczos_at(x, radius);
  };
}

// The weight of each of `in` elements for each of `out` elements: (out, in), in the dtype of scale.
Tensor scaling_weights(int64_t out, int64_t in, const Tensor& scale, const Tensor& translation,
                       const std::function<Tensor(const Tensor&)>& weight, bool antialias) {
  const DType dtype = scale.dtype();
  const auto line = [&](int64_t size) {
    return arange(0.0, static_cast<double>(size), 1.0, dtype);
  };
  const Tensor step = 1 / scale;
  const Tensor from = expand_dims((line(out) + 0.5) * step - translation * step - 0.5, 1);
  const Tensor distance = abs(from - expand_dims(line(in), 0));
  const Tensor weights = weight(antialias ? distance / maximum(step, 1) : distance);
  const Tensor total = sum(weights, 1, true);
  constexpr double kMin = 1000 * 1.1920929e-07;  // 1000 float32 rounding errors
  const Tensor seen =
      (abs(total) > kMin) & (from >= -0.5) & (from <= static_cast<double>(in) - 0.5);
  return where(seen, weights / where(total != 0, total, 1), 0);
}

Tensor scaled(const std::vector<Tensor>& in, const Shape& output_shape,
              const std::vector<int64_t>& axes, const std::string& method, bool antialias) {
  const Tensor& images = in[0];
  const DType dtype =
      promote(promote(to_floating(in[1]).dtype(), to_floating(in[2]).dtype()), DType::Float32);
  const Tensor scale = cast(in[1], dtype), translation = cast(in[2], dtype);
  const auto weight = weight_function(method);
  Tensor x = to_floating(images);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const Tensor matrix = scaling_weights(
        output_shape[axes[i]], images.dim(axes[i]), squeeze(slice_axis(scale, 0, at, at + 1)),
        squeeze(slice_axis(translation, 0, at, at + 1)), weight, antialias);
    x = weighted_axis(cast(matrix, x.dtype()), x, axes[i]);
  }
  if (is_floating(images.dtype())) return x;
  return cast(clip(round(x), min(images), max(images)), images.dtype());
}

void check_scaling(const Tensor& images, const Shape& output_shape, const Tensor& scale,
                   const Tensor& translation, const std::vector<int64_t>& axes) {
  const auto count = static_cast<int64_t>(axes.size());
  check<InvalidArgument>(
      scale.shape() == Shape{count} && translation.shape() == Shape{count},
      "scale_and_translate: expected scale and translation of shape ({},), one number for each of "
      "spatial_dims, got {} and {}.",
      count, scale.shape(), translation.shape());
  bool fits = output_shape.rank() == images.rank();
  for (int64_t axis = 0; fits && axis < images.rank(); ++axis) {
    const bool scales = std::count(axes.begin(), axes.end(), axis) > 0;
    fits = scales ? output_shape[axis] > 0 && images.dim(axis) != 0
                  : output_shape[axis] == images.dim(axis) || output_shape[axis] == kUnknown ||
                        images.dim(axis) == kUnknown;
  }
  check<InvalidArgument>(fits,
                         "scale_and_translate: expected an output_shape that differs from the "
                         "images' {} along spatial_dims {} alone, and has elements there, as the "
                         "images have, got {}.",
                         images.shape(), Shape(axes), output_shape);
}

}  // namespace

namespace image {

Tensor perspective_transform(const Tensor& images, const Tensor& start_points,
                             const Tensor& end_points, const PerspectiveTransformOptions& options) {
  static constexpr char kWho[] = "perspective_transform";
  require_defined(images, kWho);
  require_defined(start_points, kWho);
  require_defined(end_points, kWho);
  const Shape& shape = start_points.shape();
  const bool several = shape.rank() == 3;
  check<InvalidArgument>(
      (several || shape.rank() == 2) && shape.slice(-2) == Shape{4, 2} &&
          end_points.shape() == shape,
      "{}: expected start_points and end_points both of shape (4, 2), or both (batch, 4, 2), got "
      "{} and {}.",
      kWho, shape, end_points.shape());
  const auto points = [&](const Tensor& x) {
    const Tensor numbers = cast(x, DType::Float32);
    return several ? numbers : expand_dims(numbers, 0);
  };
  return affine_transform(images, internal::perspectives(points(start_points), points(end_points)),
                          {.interpolation = options.interpolation,
                           .fill_value = options.fill_value,
                           .data_format = options.data_format});
}

Tensor map_coordinates(const Tensor& inputs, const Tensor& coordinates, int64_t order,
                       const MapCoordinatesOptions& options) {
  require_defined(inputs, "map_coordinates");
  require_defined(coordinates, "map_coordinates");
  require_one_of("map_coordinates", "fill_mode", options.fill_mode, kFillModes);
  check<InvalidArgument>(order == 0 || order == 1,
                         "map_coordinates: expected order 0 or 1, got {}.", order);
  check<InvalidArgument>(
      coordinates.rank() >= 2 && coordinates.dim(0) == inputs.rank(),
      "map_coordinates: expected coordinates of shape ({}, ...), one for each axis of the inputs' "
      "shape {}, got {}.",
      inputs.rank(), inputs.shape(), coordinates.shape());
  check<InvalidArgument>(inputs.rank() <= 8,
                         "map_coordinates: expected inputs of at most 8 axes, got shape {}.",
                         inputs.shape());
  return as_whole(
      "map_coordinates", {inputs, coordinates}, [order, options](const std::vector<Tensor>& in) {
        return at_once<"map_coordinates">(
            in,
            {{"order", order},
             {"fill_mode", options.fill_mode},
             {"fill_value", static_cast<double>(options.fill_value)}},
            [&](const std::vector<Tensor>& now) { return mapped(now[0], now[1], order, options); });
      });
}

Tensor elastic_transform(const Tensor& images, const ElasticTransformOptions& options) {
  static constexpr char kWho[] = "elastic_transform";
  require_floating_images(images, kWho);
  require_one_of(kWho, "interpolation", options.interpolation, {"bilinear", "nearest"});
  require_one_of(kWho, "fill_mode", options.fill_mode, kFillModes);
  check<InvalidArgument>(options.sigma >= 0 && options.sigma <= 1e6 && std::isfinite(options.alpha),
                         "{}: expected a sigma in [0, 1e6] and a finite alpha, got {} and {}.",
                         kWho, options.sigma, options.alpha);
  return as_whole(kWho, {images}, [options](const std::vector<Tensor>& in) {
    const ImageBatch batch(in[0], options.data_format, kWho);
    const Tensor& x = batch.images();
    const DType dtype = promote(x.dtype(), DType::Float32);
    const Tensor noise =
        random::normal({x.dim(0), x.dim(1), x.dim(2), 2}, {.dtype = dtype, .seed = options.seed});
    const std::vector<Tensor> parts = unstack(noise, 3);
    return batch.restored(displaced(x,
                                    {parts[0], parts[1], options.alpha, options.sigma,
                                     2 * static_cast<int64_t>(3 * options.sigma) + 1},
                                    options));
  });
}

Tensor scale_and_translate(const Tensor& images, const Shape& output_shape, const Tensor& scale,
                           const Tensor& translation, const std::vector<int64_t>& spatial_dims,
                           const std::string& method, bool antialias) {
  static constexpr char kWho[] = "scale_and_translate";
  require_defined(images, kWho);
  require_defined(scale, kWho);
  require_defined(translation, kWho);
  weight_function(method);
  std::vector<int64_t> axes;
  for (const int64_t axis : spatial_dims) {
    axes.push_back(images.shape().normalize_axis(axis, kWho));
  }
  Axes(axes).normalized(images.shape(), kWho);  // rejects duplicates
  check_scaling(images, output_shape, scale, translation, axes);
  return as_whole(kWho, {images, scale, translation}, [=](const std::vector<Tensor>& in) {
    return scaled(in, output_shape, axes, method, antialias);
  });
}

}  // namespace image
}  // namespace cornu::ops
