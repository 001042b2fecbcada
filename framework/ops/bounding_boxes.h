// SPDX-License-Identifier: Apache-2.0
// Bounding boxes (keras.utils.bounding_boxes): tensors (boxes, 4) or (batch, boxes, 4) in one of
// these formats, whose names are case-insensitive:
//
//   "xyxy"                       left, top, right, bottom, in pixels
//   "yxyx"                       top, left, bottom, right
//   "xywh"                       left, top, width, height
//   "center_xywh"                the center's x and y, width, height
//   "center_yxhw"                the center's y and x, height, width
//   "rel_xyxy", "rel_yxyx",      the same, relative to the width and height of the image
//   "rel_xywh", "rel_center_xywh"
//
// Throws InvalidArgument for other formats and shapes, and for relative formats without the size of
// the image. Thread-safe, as all ops are.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::bounding_boxes {

// Throws InvalidArgument, naming `who`, for an unknown format.
void check_format(const std::string& format, const std::string& who);

// Height and width of an image, in pixels.
using ImageSize = std::optional<std::pair<double, double>>;

struct ConvertFormatOptions {
  ImageSize image_size = {};  // required to convert between relative and absolute formats
  DType dtype = DType::Float32;
};

// Converts boxes from format `source` to format `target`, and to the dtype.
Tensor convert_format(const Tensor& boxes, const std::string& source, const std::string& target,
                      const ConvertFormatOptions& options = {});

// Boxes with their labels: one number per box, (boxes) or (batch, boxes), or classes per box,
// (batch, boxes, classes). The label -1 means that there is no box.
struct BoundingBoxes {
  Tensor boxes;
  Tensor labels = {};  // may be undefined
};

struct ClipToImageSizeOptions {
  ImageSize image_size = {};                 // required for "xyxy"
  std::string bounding_box_format = "xyxy";  // or "rel_xyxy"
};

// Clips boxes to the image. Boxes of which nothing is left get the label -1.
BoundingBoxes clip_to_image_size(const BoundingBoxes& bounding_boxes,
                                 const ClipToImageSizeOptions& options);

struct AffineTransformOptions {
  std::pair<double, double> image_size;  // required
  // Scalars, or one number per image, (batch).
  Tensor angle = 0.0f;        // in degrees, counter-clockwise
  Tensor translate_x = 0.0f;  // to the right, as a fraction of width - 1
  Tensor translate_y = 0.0f;  // down, as a fraction of height - 1
  Tensor scale = 1.0f;
  Tensor shear_x = 0.0f;  // in degrees
  Tensor shear_y = 0.0f;
  double center_x = 0.5;  // as a fraction of width - 1
  double center_y = 0.5;
};

// The boxes ("xyxy", float32) around the corners of `boxes` after an affine transform of the image.
Tensor affine_transform(const Tensor& boxes, const AffineTransformOptions& options);

// Boxes ("xyxy") relative to the part of the image with this top left corner and size, clipped to
// it; and boxes after this many rows and columns are added at the top and left.
Tensor crop(const Tensor& boxes, double top, double left, double height, double width);
Tensor pad(const Tensor& boxes, double top, double left);

struct ComputeIouOptions {
  bool use_masking = false;  // boxes of negative numbers alone are padding
  double mask_val = -1;      // the result for padding
  ImageSize image_size = {};
};

// The intersection over union of each of boxes1 with each of boxes2: (boxes1, boxes2), or (batch,
// boxes1, boxes2) if one or both are batched.
Tensor compute_iou(const Tensor& boxes1, const Tensor& boxes2,
                   const std::string& bounding_box_format, const ComputeIouOptions& options = {});

// The complete intersection over union of pairs of boxes, (..., 4) each: 1 for equal boxes, less
// the farther apart their centers and aspect ratios are (Zheng et al. 2020, "Enhancing geometric
// factors in model learning and inference for object detection and instance segmentation").
Tensor compute_ciou(const Tensor& boxes1, const Tensor& boxes2,
                    const std::string& bounding_box_format, const ImageSize& image_size = {});

struct DeltaOptions {
  std::string encoding_format = "center_yxhw";  // or "center_xywh": of the deltas
  std::vector<double> variance = {};            // four numbers that deltas are divided by
  ImageSize image_size = {};
};

// What moves and scales `anchors` (boxes, 4) to `boxes` (boxes, 4) or (batch, boxes, 4): offsets
// relative to the anchors' sizes, and logarithms of the ratios of sizes.
Tensor encode_box_to_deltas(const Tensor& anchors, const Tensor& boxes,
                            const std::string& anchor_format, const std::string& box_format,
                            const DeltaOptions& options = {});
// The inverse: boxes in box_format.
Tensor decode_deltas_to_boxes(const Tensor& anchors, const Tensor& boxes_delta,
                              const std::string& anchor_format, const std::string& box_format,
                              const DeltaOptions& options = {});

}  // namespace cornu::bounding_boxes
