// SPDX-License-Identifier: Apache-2.0
// What image layers do to dictionaries: to images, and to the labels, boxes and masks that belong
// to them. Internal: included by image layers' .cc files.
//
// Images are (batch, height, width, channels), boxes (batch, boxes, 4) in pixels, left, top, right
// and bottom ("xyxy"), float32.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/tensors.h"
#include "framework/ops/bounding_boxes.h"

namespace cornu::layers {

using bounding_boxes::BoundingBoxes;
using ImageSize = std::pair<int64_t, int64_t>;  // height and width

// What one call does, with the random numbers that it drew. An unset function changes nothing.
struct Change {
  std::function<Tensor(const Tensor& images)> images;
  std::function<Tensor(const Tensor& masks)> masks = {};
  std::function<Tensor(const Tensor& labels)> labels = {};  // (batch, ...)
  std::function<BoundingBoxes(const BoundingBoxes&)> boxes = {};
  bool zero_padding = false;  // boxes of zeros, or of -1, in any format, are padding: become zeros
};

// Moves pixels, with the given interpolation.
using Move = std::function<Tensor(const Tensor& images, const std::string& interpolation)>;
// A change that moves pixels: masks with the interpolation "nearest", which keeps their values, and
// boxes as `move_boxes` does. Boxes are then clipped to the result, of this size (height, width).
Change moving(const Move& move, const std::string& interpolation,
              const std::function<Tensor(const Tensor& boxes)>& move_boxes, ImageSize size);

// Boxes clipped to images of this size; those of which nothing is left get the label -1.
BoundingBoxes clipped(const BoundingBoxes& boxes, ImageSize size);

// The boxes around the corners of `boxes` after affine or perspective transforms, (batch, 8) as for
// ops::image::affine_transform: from places in the result to places in the image.
Tensor transform_boxes(const Tensor& boxes, const Tensor& transforms);
// Mirrors the boxes of the images for which `flips`, (batch, 1, 1, 1), holds.
Tensor flip_boxes(const Tensor& boxes, const Tensor& flips, bool horizontally, bool vertically,
                  ImageSize size);
// boxes * scale + offset, for numbers (x, y).
Tensor scale_boxes(const Tensor& boxes, std::pair<double, double> scale,
                   std::pair<double, double> offset);

// The names of a dictionary's entries. Those of nested dictionaries are paths.
inline constexpr char kImages[] = "images";
inline constexpr char kMasks[] = "segmentation_masks";
inline constexpr char kLabels[] = "labels";
inline constexpr char kBoxes[] = "bounding_boxes/boxes";
inline constexpr char kBoxLabels[] = "bounding_boxes/labels";

// Whether these are named entries of a dictionary, rather than images, whatever their name.
bool is_dictionary(const Tensors& inputs);

// Checks the boxes of a dictionary: (boxes, 4) or (batch, boxes, 4), with a label or classes for
// each. Returns whether there are any. Throws InvalidArgument, naming `layer`.
bool check_boxes(const Tensors& entries, const std::string& layer);

// A dictionary whose entries a layer changes; those with other names stay as they are.
class LabeledImages {
 public:
  struct Layer {
    std::string label;  // for errors
    std::optional<std::string> bounding_box_format;
    bool channels_first;
  };
  // Throws InvalidArgument for a dictionary without images, and for entries that don't belong to
  // these images.
  LabeledImages(const Layer& layer, const Tensors& entries);

  const Tensor& images() const { return entries_.at(kImages); }
  // The dictionary after `change`, whose images are `result`; `before` and `after` are the sizes
  // (height, width) of images.
  Tensors changed(const Change& change, const Tensor& result, ImageSize before,
                  ImageSize after) const;

 private:
  bool batched() const { return images().rank() == 4; }
  void check_masks() const;
  Tensor changed_masks(const Change& change) const;
  Tensor changed_labels(const Change& change) const;
  BoundingBoxes changed_boxes(const Change& change, ImageSize before, ImageSize after) const;

  Layer layer_;
  const Tensors& entries_;
  bool has_boxes_;
};

// (height, width, channels) or (channels, height, width), or a batch of them, as (batch, height,
// width, channels); and back.
Tensor arranged(const Tensor& x, bool channels_first);
Tensor rearranged(const Tensor& images, const Tensor& like, bool channels_first);

}  // namespace cornu::layers
