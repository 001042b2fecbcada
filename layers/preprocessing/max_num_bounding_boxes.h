// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct MaxNumBoundingBoxesOptions {
  int64_t max_number = 0;                               // required
  int64_t fill_value = -1;                              // for added boxes and labels
  std::optional<std::string> bounding_box_format = {};  // only kept in files; any format works
  std::string data_format = {};                         // None: "channels_last"; has no effect
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.MaxNumBoundingBoxes: gives each image the same number of boxes, by keeping the first
// max_number of them or adding boxes filled with fill_value. Takes a dictionary in which the
// contents of "bounding_boxes" are named by path: "bounding_boxes/boxes" (boxes, 4) or (batch,
// boxes, 4), and "bounding_boxes/labels" (boxes) or (batch, boxes). All other entries ("images",
// "labels", …) are unchanged, as is an unnamed input, which consists of images.
//
//   auto rows = dataset.map([=](const Tensors& row) { return Tensors(most(row)); });
class MaxNumBoundingBoxes final : public LayerHandle {
 public:
  explicit MaxNumBoundingBoxes(const MaxNumBoundingBoxesOptions& options);
  static MaxNumBoundingBoxes from_config(const Json& config);
};

}  // namespace cornu::layers
