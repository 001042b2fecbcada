// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/bounding_boxes.h"

#include <algorithm>
#include <numbers>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/ops/box_corners.h"
#include "framework/ops/definition.h"
#include "framework/ops/ops.h"

namespace cornu::bounding_boxes {
namespace {

constexpr float kEpsilon = 1e-7f;  // as in Keras
constexpr char kRelative[] = "rel_";

const std::vector<std::string>& formats() {
  static const std::vector<std::string> names = {"xyxy",        "yxyx",        "xywh",
                                                 "center_xywh", "center_yxhw", "rel_xyxy",
                                                 "rel_yxyx",    "rel_xywh",    "rel_center_xywh"};
  return names;
}

// A format's parts: "rel_yxyx" is relative, and y comes first.
struct Format {
  Format(const std::string& text, const std::string& who) {
    check_format(text, who);
    name = lower_case(text);
    relative = name.starts_with(kRelative);
    if (relative) name.erase(0, sizeof(kRelative) - 1);
    y_first = name == "yxyx" || name == "center_yxhw";
  }

  std::string name;
  bool relative;
  bool y_first;
};

void check_boxes(const Tensor& boxes, const char* who) {
  ops::internal::require_defined(boxes, who);
  check<InvalidArgument>(boxes.rank() >= 1 && boxes.shape().back() == 4,
                         "{}: expected boxes (..., 4), got {}.", who, boxes.shape());
}

std::vector<Tensor> columns(const Tensor& boxes) { return ops::split(boxes, 4, -1); }
Tensor of_columns(const std::vector<Tensor>& columns) { return ops::concatenate(columns, -1); }

Tensor with_x_first(const Tensor& boxes, bool y_first) {
  if (!y_first) return boxes;
  const auto in = columns(boxes);
  return of_columns({in[1], in[0], in[3], in[2]});
}

// Width and height, twice.
Tensor sizes(const ImageSize& size, DType dtype) {
  const auto [height, width] = *size;
  const auto h = static_cast<float>(height), w = static_cast<float>(width);
  return ops::cast(Tensor::from<float>({w, h, w, h}), dtype);
}

Tensor to_corners(const Tensor& boxes, const std::string& format) {
  if (format == "xyxy" || format == "yxyx") return boxes;
  const auto in = columns(boxes);
  if (format == "xywh") return of_columns({in[0], in[1], in[0] + in[2], in[1] + in[3]});
  const Tensor x = in[2] / 2, y = in[3] / 2;
  return of_columns({in[0] - x, in[1] - y, in[0] + x, in[1] + y});
}

Tensor from_corners(const Tensor& boxes, const std::string& format) {
  if (format == "xyxy" || format == "yxyx") return boxes;
  const auto in = columns(boxes);
  const Tensor width = in[2] - in[0], height = in[3] - in[1];
  if (format == "xywh") return of_columns({in[0], in[1], width, height});
  return of_columns({in[0] + width / 2, in[1] + height / 2, width, height});
}

// How far boxes overlap along an axis, whose edges are these columns.
Tensor overlap(const std::vector<Tensor>& a, const std::vector<Tensor>& b, size_t low,
               size_t high) {
  return ops::maximum(ops::minimum(a[high], b[high]) - ops::maximum(a[low], b[low]), 0);
}
Tensor intersection(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return overlap(a, b, 0, 2) * overlap(a, b, 1, 3);
}

Tensor area(const Tensor& corners) {
  const auto in = columns(corners);
  return ops::squeeze((in[2] - in[0]) * (in[3] - in[1]), -1);
}

// The variance of deltas, or 1.
Tensor factors(const DeltaOptions& options, const char* who) {
  const std::vector<double>& given = options.variance;
  check<InvalidArgument>(given.empty() || given.size() == 4,
                         "{}: expected variance of four numbers, got {}.", who, given.size());
  check<InvalidArgument>(
      options.encoding_format == "center_xywh" || options.encoding_format == "center_yxhw",
      "{}: expected encoding_format \"center_xywh\" or \"center_yxhw\", got '{}'.", who,
      options.encoding_format);
  return given.empty() ? Tensor(1.0f)
                       : Tensor::from(std::vector<float>(given.begin(), given.end()));
}

// The first or last two of four columns.
Tensor places_of(const Tensor& boxes) { return ops::slice_axis(boxes, -1, 0, 2); }
Tensor sizes_of(const Tensor& boxes) { return ops::slice_axis(boxes, -1, 2, 4); }

// One number, or one for each image, as (1 or batch, 1).
Tensor per_image(const Tensor& numbers, const char* what) {
  const Tensor all = ops::cast(numbers, DType::Float32);
  check<InvalidArgument>(all.rank() <= 1,
                         "bounding_boxes::affine_transform: expected {} to be a scalar or one "
                         "number per image, got {}.",
                         what, all.shape());
  return ops::reshape(all, {all.rank() == 0 ? 1 : all.dim(0), 1});
}

// The rows (a0, a1, a2) and (b0, b1, b2) of the transform, as six tensors (batch, 1).
std::vector<Tensor> affine_rows(const AffineTransformOptions& options) {
  constexpr double kRadian = std::numbers::pi / 180;
  const double right = options.image_size.second - 1, bottom = options.image_size.first - 1;
  const double center_x = options.center_x * right, center_y = options.center_y * bottom;
  const Tensor turn = -kRadian * per_image(options.angle, "angle");
  const Tensor shear_x = -kRadian * per_image(options.shear_x, "shear_x");
  const Tensor shear_y = -kRadian * per_image(options.shear_y, "shear_y");
  const Tensor scale = per_image(options.scale, "scale");
  const Tensor x = center_x - right * per_image(options.translate_x, "translate_x");
  const Tensor y = center_y - bottom * per_image(options.translate_y, "translate_y");

  const Tensor cosine = ops::cos(shear_y), tangent = ops::tan(shear_x);
  const Tensor a = ops::cos(turn - shear_y) / cosine;
  const Tensor b = a * tangent + ops::sin(turn);
  const Tensor c = -ops::sin(turn - shear_y) / cosine;
  const Tensor d = ops::cos(turn) - c * tangent;
  const Tensor a0 = d * scale, a1 = -b * scale, b0 = -c * scale, b1 = a * scale;
  return {a0, a1, center_x - a0 * x - a1 * y, b0, b1, center_y - b0 * x - b1 * y};
}

}  // namespace

void check_format(const std::string& format, const std::string& who) {
  const std::string lower = lower_case(format);
  check<InvalidArgument>(std::count(formats().begin(), formats().end(), lower) > 0,
                         "{}: unknown bounding box format '{}'.{}", who, format,
                         did_you_mean(lower, formats()));
}

Tensor convert_format(const Tensor& boxes, const std::string& source, const std::string& target,
                      const ConvertFormatOptions& options) {
  static constexpr char kWho[] = "bounding_boxes::convert_format";
  check_boxes(boxes, kWho);
  const Format from(source, kWho), to(target, kWho);
  const bool sized = from.relative != to.relative;
  check<InvalidArgument>(!sized || options.image_size.has_value(),
                         "{}: '{}' and '{}' differ by the image's size; expected image_size, "
                         "height and width in pixels.",
                         kWho, source, target);
  check<InvalidArgument>(is_floating(options.dtype), "{}: expected a floating-point dtype, got {}.",
                         kWho, options.dtype);
  const Tensor given = ops::cast(boxes, options.dtype);
  if (from.name == to.name && !sized) return given;
  Tensor corners = to_corners(with_x_first(given, from.y_first), from.name);
  if (sized && from.relative) corners = corners * sizes(options.image_size, options.dtype);
  Tensor result = from_corners(corners, to.name);
  if (sized && to.relative) result = result / sizes(options.image_size, options.dtype);
  return with_x_first(result, to.y_first);
}

Corners corners_of(const Tensor& boxes) {
  const auto in = columns(boxes);
  return {of_columns({in[0], in[2], in[2], in[0]}), of_columns({in[1], in[1], in[3], in[3]})};
}

Tensor boxes_around(const Corners& points) {
  return ops::stack({ops::min(points.x, -1), ops::min(points.y, -1), ops::max(points.x, -1),
                     ops::max(points.y, -1)},
                    -1);
}

BoundingBoxes clip_to_image_size(const BoundingBoxes& bounding_boxes,
                                 const ClipToImageSizeOptions& options) {
  static constexpr char kWho[] = "bounding_boxes::clip_to_image_size";
  check_boxes(bounding_boxes.boxes, kWho);
  const Format format(options.bounding_box_format, kWho);
  check<InvalidArgument>(format.name == "xyxy",
                         "{}: expected bounding_box_format \"xyxy\" or \"rel_xyxy\", got '{}'.",
                         kWho, options.bounding_box_format);
  check<InvalidArgument>(format.relative || options.image_size.has_value(),
                         "{}: expected image_size, height and width in pixels.", kWho);
  const Tensor& boxes = bounding_boxes.boxes;
  const Tensor most =
      format.relative ? Tensor::scalar(1.0f) : sizes(options.image_size, DType::Float32);
  const Tensor clipped = ops::minimum(ops::maximum(boxes, 0), ops::cast(most, boxes.dtype()));
  const Tensor& labels = bounding_boxes.labels;
  if (!labels.defined()) return {clipped};
  Tensor seen = area(clipped) > 0;
  if (labels.rank() > seen.rank()) seen = ops::expand_dims(seen, -1);
  return {clipped, ops::where(seen, labels, ops::cast(Tensor::scalar(-1), labels.dtype()))};
}

Tensor affine_transform(const Tensor& boxes, const AffineTransformOptions& options) {
  static constexpr char kWho[] = "bounding_boxes::affine_transform";
  check_boxes(boxes, kWho);
  check<InvalidArgument>(boxes.rank() == 2 || boxes.rank() == 3,
                         "{}: expected boxes (boxes, 4) or (batch, boxes, 4), got {}.", kWho,
                         boxes.shape());
  check<InvalidArgument>(options.image_size.first > 0 && options.image_size.second > 0,
                         "{}: expected image_size, height and width in pixels, got {} and {}.",
                         kWho, options.image_size.first, options.image_size.second);
  Tensor given = ops::cast(boxes, DType::Float32);
  if (boxes.rank() == 2) given = ops::expand_dims(given, 0);
  const auto rows = affine_rows(options);
  const Corners points = corners_of(given);
  const auto moved = [&](size_t row) {
    const auto number = [&](size_t i) { return ops::expand_dims(rows[row + i], 2); };
    return number(0) * points.x + number(1) * points.y + number(2);
  };
  const Tensor result = boxes_around({moved(0), moved(3)});
  return boxes.rank() == 2 ? ops::squeeze(result, 0) : result;
}

Tensor crop(const Tensor& boxes, double top, double left, double height, double width) {
  check_boxes(boxes, "bounding_boxes::crop");
  return clip_to_image_size({pad(boxes, -top, -left)}, {.image_size = {{height, width}}}).boxes;
}

Tensor pad(const Tensor& boxes, double top, double left) {
  check_boxes(boxes, "bounding_boxes::pad");
  const auto in = columns(boxes);
  return of_columns({in[0] + left, in[1] + top, in[2] + left, in[3] + top});
}

Tensor compute_iou(const Tensor& boxes1, const Tensor& boxes2,
                   const std::string& bounding_box_format, const ComputeIouOptions& options) {
  static constexpr char kWho[] = "bounding_boxes::compute_iou";
  for (const Tensor* boxes : {&boxes1, &boxes2}) {
    check_boxes(*boxes, kWho);
    check<InvalidArgument>(boxes->rank() == 2 || boxes->rank() == 3,
                           "{}: expected boxes (boxes, 4) or (batch, boxes, 4), got {}.", kWho,
                           boxes->shape());
  }
  const auto corners = [&](const Tensor& boxes, int64_t axis) {
    return ops::expand_dims(
        convert_format(boxes, bounding_box_format, "xyxy", {.image_size = options.image_size}),
        axis);
  };
  const Tensor each = corners(boxes1, -2), other = corners(boxes2, -3);
  const Tensor both = ops::squeeze(intersection(columns(each), columns(other)), -1);
  const Tensor result = both / (area(each) + area(other) - both + kEpsilon);
  if (!options.use_masking) return result;
  const Tensor none = ops::logical_or(ops::max(each, -1) < 0, ops::max(other, -1) < 0);
  return ops::where(none, options.mask_val, result);
}

Tensor compute_ciou(const Tensor& boxes1, const Tensor& boxes2,
                    const std::string& bounding_box_format, const ImageSize& image_size) {
  const auto corners = [&](const Tensor& boxes) {
    return columns(convert_format(boxes, bounding_box_format, "xyxy", {.image_size = image_size}));
  };
  const auto a = corners(boxes1), b = corners(boxes2);
  const auto width = [](const std::vector<Tensor>& box) { return box[2] - box[0]; };
  const auto height = [](const std::vector<Tensor>& box) { return box[3] - box[1] + kEpsilon; };
  const auto extent = [&](size_t low, size_t high) {
    return ops::maximum(a[high], b[high]) - ops::minimum(a[low], b[low]);
  };
  const auto distance = [&](size_t low, size_t high) {
    return ops::square((a[low] + a[high]) / 2 - (b[low] + b[high]) / 2);
  };
  const Tensor both = intersection(a, b);
  const Tensor all = width(a) * height(a) + width(b) * height(b) - both + kEpsilon;
  const Tensor iou = both / (all + kEpsilon);
  const Tensor diagonal = ops::square(extent(0, 2)) + ops::square(extent(1, 3)) + kEpsilon;
  const Tensor apart = distance(0, 2) + distance(1, 3);
  const Tensor turn = ops::arctan(width(b) / height(b)) - ops::arctan(width(a) / height(a));
  const Tensor shape = 4 / (std::numbers::pi * std::numbers::pi) * ops::square(turn);
  const Tensor weight = shape / (shape - iou + (1 + kEpsilon));
  return ops::squeeze(iou - (apart / diagonal + shape * weight), -1);
}

Tensor encode_box_to_deltas(const Tensor& anchors, const Tensor& boxes,
                            const std::string& anchor_format, const std::string& box_format,
                            const DeltaOptions& options) {
  const Tensor variance = factors(options, "bounding_boxes::encode_box_to_deltas");
  const ConvertFormatOptions conversion = {.image_size = options.image_size};
  const Tensor from = convert_format(anchors, anchor_format, options.encoding_format, conversion);
  const Tensor to = convert_format(boxes, box_format, options.encoding_format, conversion);
  const Tensor anchor_sizes = ops::maximum(sizes_of(from), kEpsilon);
  const Tensor box_sizes = ops::maximum(sizes_of(to), kEpsilon);
  return ops::concatenate(
             {(places_of(to) - places_of(from)) / anchor_sizes, ops::log(box_sizes / anchor_sizes)},
             -1) /
         variance;
}

Tensor decode_deltas_to_boxes(const Tensor& anchors, const Tensor& boxes_delta,
                              const std::string& anchor_format, const std::string& box_format,
                              const DeltaOptions& options) {
  static constexpr char kWho[] = "bounding_boxes::decode_deltas_to_boxes";
  const Tensor variance = factors(options, kWho);
  check_boxes(boxes_delta, kWho);
  const ConvertFormatOptions conversion = {.image_size = options.image_size};
  const Tensor from = convert_format(anchors, anchor_format, options.encoding_format, conversion);
  const Tensor deltas = ops::cast(boxes_delta, DType::Float32) * variance;
  const Tensor boxes = ops::concatenate({places_of(deltas) * sizes_of(from) + places_of(from),
                                         ops::exp(sizes_of(deltas)) * sizes_of(from)},
                                        -1);
  return convert_format(boxes, options.encoding_format, box_format, conversion);
}

}  // namespace cornu::bounding_boxes
