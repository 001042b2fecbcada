// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "framework/core/allocation_limit.h"
#include "framework/core/checked.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

// Rounding before operator set 11: up if the result is smaller, otherwise down.
constexpr const char* kOldNearest = "old";

struct Resizing {
  std::string mode;         // nearest, linear, cubic
  std::string coordinates;  // position of the result's pixels in the input
  std::string nearest;      // rounding mode
  float cubic = -0.75f;
  bool excludes_outside = false;
};

// An axis of the input and of the result; an axis with scale 1, which is unchanged, may be open.
struct Resized {
  bool stays() const { return scale == 1; }

  int64_t from = 0;
  int64_t to = 0;
  float scale = 1;
};

float place(const Resizing& how, const Resized& axis, int64_t i) {
  const auto at = static_cast<float>(i);
  if (axis.stays()) return at;
  const auto from = static_cast<float>(axis.from), to = static_cast<float>(axis.to);
  if (how.coordinates == "asymmetric") return at / axis.scale;
  if (how.coordinates == "align_corners") return axis.to == 1 ? 0 : at * (from - 1) / (to - 1);
  if (how.coordinates == "tf_half_pixel_for_nn") return (at + 0.5f) / axis.scale;
  if (how.coordinates == "pytorch_half_pixel" && axis.to <= 1) return 0;
  if (how.coordinates != "half_pixel_symmetric") return (at + 0.5f) / axis.scale - 0.5f;
  // In double precision, as in onnxruntime.
  const double begin = from / 2 * (1 - to / (axis.scale * from));
  return static_cast<float>(begin + (at + 0.5) / axis.scale - 0.5);
}

int64_t nearest_place(const Resizing& how, const Resized& axis, int64_t i) {
  const float x = place(how, axis, i);
  float rounded = std::ceil(x - 0.5f);
  if (how.nearest == "round_prefer_ceil") rounded = std::floor(x + 0.5f);
  if (how.nearest == "floor") rounded = std::floor(x);
  if (how.nearest == "ceil") rounded = std::ceil(x);
  if (how.nearest == kOldNearest) rounded = axis.scale < 1 ? std::ceil(x) : std::floor(x);
  return std::clamp<int64_t>(static_cast<int64_t>(rounded), 0, axis.from - 1);
}

// The weights of the pixels starting at floor(x) - before.
std::vector<float> taps(const Resizing& how, float part) {
  if (how.mode == "linear") return {1 - part, part};
  const float a = how.cubic;
  const auto near = [a](float d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [a](float d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + part), near(part), near(1 - part), far(2 - part)};
}

// The matrix by which a row of the input is multiplied: (from, to).
Tensor weights_of(const Resizing& how, const Resized& axis) {
  Tensor matrix = Tensor::empty({axis.from, axis.to}, DType::Float32);
  const std::span<float> values = matrix.mutable_data<float>();
  std::ranges::fill(values, 0.0f);
  const int64_t before = how.mode == "cubic" ? 1 : 0;
  for (int64_t i = 0; i < axis.to; ++i) {
    const float x = place(how, axis, i);
    const float low = std::floor(x);
    std::vector<float> parts = taps(how, x - low);
    const int64_t first = static_cast<int64_t>(low) - before;
    float sum = 0;
    for (size_t tap = 0; tap < parts.size(); ++tap) {
      const int64_t at = first + static_cast<int64_t>(tap);
      if (how.excludes_outside && (at < 0 || at >= axis.from)) parts[tap] = 0;
      sum += parts[tap];
    }
    for (size_t tap = 0; tap < parts.size(); ++tap) {
      const int64_t at = std::clamp<int64_t>(first + static_cast<int64_t>(tap), 0, axis.from - 1);
      values[static_cast<size_t>(at * axis.to + i)] +=
          how.excludes_outside ? parts[tap] / sum : parts[tap];
    }
  }
  return matrix;
}

Tensor resized(const Tensor& x, int64_t axis, const Resizing& how, const Resized& sizes) {
  if (how.mode == "nearest") {
    Ints places;
    for (int64_t i = 0; i < sizes.to; ++i) places.push_back(nearest_place(how, sizes, i));
    return ops::take(x, Tensor::from(places), axis);
  }
  const Tensor weights = ops::cast(weights_of(how, sizes), x.dtype());
  const bool last = axis == x.rank() - 1;
  const Tensor y = ops::matmul(last ? x : ops::moveaxis(x, axis, -1), weights);
  return last ? y : ops::moveaxis(y, -1, axis);
}

// For each element along an axis of the result, the two neighboring elements of the input and their
// weights.
struct Between {
  Tensor low, high;
  std::vector<float> of_low, of_high;
};

Between between(const Resizing& how, const Resized& axis) {
  Ints low, high;
  Between result;
  const auto last = static_cast<float>(axis.from - 1);
  for (int64_t i = 0; i < axis.to; ++i) {
    const float x = std::clamp(place(how, axis, i), 0.0f, last);
    const float before = std::floor(x), after = std::min(before + 1, last);
    low.push_back(static_cast<int64_t>(before));
    high.push_back(static_cast<int64_t>(after));
    result.of_low.push_back(before == after ? 0.5f : after - x);
    result.of_high.push_back(before == after ? 0.5f : x - before);
  }
  result.low = Tensor::from(low);
  result.high = Tensor::from(high);
  return result;
}

// All pairwise products: (first, second).
Tensor products_of(const std::vector<float>& first, const std::vector<float>& second) {
  std::vector<float> result;
  for (const float a : first) {
    for (const float b : second) result.push_back(b * a);
  }
  return ops::reshape(Tensor::from(result), {std::ssize(first), std::ssize(second)});
}

// Interpolates integers linearly in floating point, adding in onnxruntime's order, since the sum is
// truncated.
Tensor interpolated(NodeReader& n, const Tensor& x, const Resizing& how,
                    const std::vector<Resized>& axes) {
  const size_t rank = axes.size();
  if (how.mode != "linear" || (rank != 2 && rank != 4) ||
      !std::all_of(axes.begin(), axes.end() - 2, std::mem_fn(&Resized::stays))) {
    n.refuse("it resizes integers other than linearly along the last two axes of two or four");
  }
  if (x.dim(-1) == kUnknown || x.dim(-2) == kUnknown) {
    n.refuse("it interpolates integers along an axis of unknown size");
  }
  const Between rows = between(how, axes[rank - 2]), columns = between(how, axes[rank - 1]);
  Tensor sum;
  const auto add = [&](const Tensor& row, const std::vector<float>& of_row, const Tensor& column,
                       const std::vector<float>& of_column) {
    const Tensor corner = ops::take(ops::take(x, row, -2), column, -1);
    const Tensor part =
        ops::multiply(products_of(of_row, of_column), ops::cast(corner, DType::Float32));
    sum = sum.defined() ? ops::add(sum, part) : part;
  };
  add(rows.low, rows.of_low, columns.low, columns.of_low);
  add(rows.low, rows.of_low, columns.high, columns.of_high);
  add(rows.high, rows.of_high, columns.low, columns.of_low);
  add(rows.high, rows.of_high, columns.high, columns.of_high);
  return ops::cast(sum, x.dtype());
}

Tensor resized(NodeReader& n, Tensor x, const Resizing& how, const std::vector<Resized>& axes) {
  // As in onnxruntime, also for scales other than 1.
  const auto same = [](const Resized& axis) { return axis.from == axis.to; };
  if (std::ranges::all_of(axes, same)) return x;
  if (is_integer(x.dtype()) && how.mode != "nearest") return interpolated(n, x, how, axes);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].stays()) continue;
    if (n.folds()) n.charge(Checked(x.num_elements(), "a resize") * axes[axis].to);
    x = resized(x, static_cast<int64_t>(axis), how, axes[axis]);
  }
  return x;
}

// Whether each pixel is repeated, for integer scales.
bool repeats(const Resizing& how) {
  if (how.mode != "nearest") return false;
  if (how.coordinates == "asymmetric") {
    return how.nearest == "floor" || how.nearest == kOldNearest;
  }
  return (how.coordinates == "half_pixel" || how.coordinates == "pytorch_half_pixel") &&
         how.nearest.starts_with("round_prefer");
}

// Uses keras.layers.UpSampling2D or 3D if equivalent; otherwise undefined.
Tensor up_sampled(NodeReader& n, const Tensor& x, const Resizing& how,
                  const std::vector<double>& scales) {
  const auto rank = static_cast<int64_t>(scales.size());
  const auto whole = [](double scale) {
    return scale >= 1 && scale <= 64 && scale == std::floor(scale);
  };
  if (!is_placeholder(x) || (rank != 4 && rank != 5) || !repeats(how) || scales[0] != 1 ||
      scales[1] != 1 || !std::ranges::all_of(scales, whole) || !is_floating(x.dtype())) {
    return {};
  }
  Ints size;
  for (int64_t axis = 2; axis < rank; ++axis) {
    size.push_back(static_cast<int64_t>(scales[static_cast<size_t>(axis)]));
  }
  const Json config = Json::object({{"size", size}, {"data_format", "channels_first"}});
  return n.layer(rank == 4 ? "UpSampling2D" : "UpSampling3D", config, x).single();
}

Resizing resizing_of(NodeReader& n) {
  const bool old = n.op() == "Upsample" || n.opset() < 11;
  Resizing how;
  how.mode = n.choice("mode", {"nearest", "linear", "cubic", "bilinear", "trilinear"});
  if (how.mode == "bilinear" || how.mode == "trilinear") how.mode = "linear";
  if (old) {
    how.coordinates = "asymmetric";
    how.nearest = kOldNearest;
    return how;
  }
  how.coordinates =
      n.choice("coordinate_transformation_mode",
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  how.nearest =
      n.choice("nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  how.cubic = static_cast<float>(n.number("cubic_coeff_a", -0.75));
  how.excludes_outside = n.integer("exclude_outside", 0) != 0 && how.mode == "cubic";
  if (how.coordinates == "tf_crop_and_resize") n.refuse("it crops (tf_crop_and_resize)");
  if (n.integer("antialias", 0) != 0) n.refuse("its attribute antialias isn't 0");
  if (n.text("keep_aspect_ratio_policy", "stretch") != "stretch") {
    n.refuse("it keeps the aspect ratio (keep_aspect_ratio_policy)");
  }
  return how;
}

// Expands values for some axes to values for all axes.
template <class T>
std::vector<T> for_all_axes(NodeReader& n, const std::vector<T>& given, std::vector<T> all) {
  const auto rank = static_cast<int64_t>(all.size());
  const Ints axes = n.integers("axes");
  check<InvalidArgument>(given.size() == (axes.empty() ? all.size() : axes.size()),
                         "expected a number for each axis, got {}.", given.size());
  if (axes.empty()) return given;
  for (size_t i = 0; i < axes.size(); ++i) {
    all[static_cast<size_t>(n.axis(axes[i], rank))] = given[i];
  }
  return all;
}

void resize_by_scales(NodeReader& n, const Resizing& how, const std::vector<double>& given) {
  const Tensor x = n.in();
  const std::vector<double> scales =
      for_all_axes(n, given, std::vector<double>(static_cast<size_t>(x.rank()), 1));
  if (const Tensor up = up_sampled(n, x, how, scales); up.defined()) return n.give(up);
  std::vector<Resized> axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const auto scale = static_cast<float>(scales[static_cast<size_t>(axis)]);
    const int64_t size = x.dim(axis);
    axes.push_back({size, size, scale});
    if (scale == 1) continue;
    if (size == kUnknown) n.refuse("it resizes an axis of unknown size");
    const float to = std::floor(static_cast<float>(size) * scale);
    check<InvalidArgument>(scale > 0 && to >= 1 && to <= (1 << 20),
                           "axis {} of {} can't be {} times as large.", axis, x.shape(), scale);
    axes.back().to = static_cast<int64_t>(to);
  }
  n.give(resized(n, x, how, axes));
}

void resize_to_sizes(NodeReader& n, const Resizing& how) {
  const Tensor x = n.in();
  const Sizes from = n.shape();
  const Sizes to = for_all_axes(n, n.sizes(3), from);
  std::vector<Resized> axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const Size& size = to[static_cast<size_t>(axis)];
    axes.push_back({x.dim(axis), x.dim(axis), 1});
    if (size == from[static_cast<size_t>(axis)]) continue;
    if (!size.fixed() || x.dim(axis) == kUnknown) n.refuse("it resizes an axis of unknown size");
    check<InvalidArgument>(size.value() >= 1 && size.value() <= (1 << 20) && x.dim(axis) > 0,
                           "axis {} of {} can't become {}.", axis, x.shape(), size.value());
    const float scale = static_cast<float>(size.value()) / static_cast<float>(x.dim(axis));
    axes.back() = {x.dim(axis), size.value(), scale};
  }
  n.give(resized(n, x, how, axes));
}

void read_resize(NodeReader& n) {
  const Resizing how = resizing_of(n);
  const size_t place = n.opset() < 11 ? 1 : 2;
  if (n.has(3)) return resize_to_sizes(n, how);
  resize_by_scales(n, how, n.numbers(place));
}

void read_upsample(NodeReader& n) {
  if (n.opset() >= 9) return resize_by_scales(n, resizing_of(n), n.numbers(1));
  const std::vector<float> scales = n.numbers("scales");
  resize_by_scales(n, resizing_of(n), std::vector<double>(scales.begin(), scales.end()));
}

// ---- blocks of pixels as channels ----

int64_t block_of(NodeReader& n, const Tensor& x) {
  const int64_t block = n.integer("blocksize", 0);
  check<InvalidArgument>(x.rank() == 4 && x.dim(1) != kUnknown && block > 0 && block <= (1 << 15),
                         "expected an input of 4 axes, with a known number of channels, and blocks "
                         "of at least 1, got {} and {}.",
                         x.shape(), block);
  return block;
}

Tensor with_blocks(NodeReader& n, const char* class_name, const Tensor& x, int64_t block) {
  const Json config = Json::object({{"block_size", block}, {"data_format", "channels_first"}});
  return n.keras_op(class_name, config, {x}).single();
}

void read_depth_to_space(NodeReader& n) {
  Tensor x = n.in();
  const int64_t block = block_of(n, x), places = block * block, depth = x.dim(1) / places;
  check<InvalidArgument>(x.dim(1) % places == 0, "expected channels that {} divides, got {}.",
                         places, x.dim(1));
  // Keras has the channels of a place together.
  if (n.choice("mode", {"DCR", "CRD"}) == "CRD" && depth > 1) {
    AllocationLimit::check_bytes(static_cast<size_t>(x.dim(1)) * sizeof(int64_t));
    Ints order;
    for (int64_t i = 0; i < x.dim(1); ++i) order.push_back(i % depth * places + i / depth);
    x = ops::take(x, Tensor::from(order), 1);
  }
  n.give(with_blocks(n, "DepthToSpace", x, block));
}

void read_space_to_depth(NodeReader& n) {
  const Tensor x = n.in();
  n.give(with_blocks(n, "SpaceToDepth", x, block_of(n, x)));
}

const Rule kRulesOfImages[] = {
    {"DepthToSpace", read_depth_to_space},
    {"Resize", read_resize},
    {"SpaceToDepth", read_space_to_depth},
    {"Upsample", read_upsample},
};

}  // namespace

std::span<const Rule> image_rules() { return kRulesOfImages; }

}  // namespace cornu::onnx::reading
