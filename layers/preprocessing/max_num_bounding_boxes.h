// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct MaxNumBoundingBoxesOptions {
  int64_t max_number = 0;                               // required
  int64_t fill_value = -1;                              // of boxes and labels that are added
  std::optional<std::string> bounding_box_format = {};  // kept in files; boxes of any are taken
  std::string data_format = {};                         // None: "channels_last"; the same
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.MaxNumBoundingBoxes: as many boxes for each picture, the first max_number of them,
// or more that are of fill_value alone. Takes a dictionary, in which what lies within
// "bounding_boxes" is named by its path: "bounding_boxes/boxes" (boxes, 4) or (batch, boxes, 4),
// and "bounding_boxes/labels" (boxes) or (batch, boxes). All else ("images", "labels", …) stays as
// it is; of an input without names, which is pictures, all.
//
//   auto rows = dataset.map([=](const Tensors& row) { return Tensors(most(row)); });
class MaxNumBoundingBoxes : public LayerHandle {
 public:
  explicit MaxNumBoundingBoxes(const MaxNumBoundingBoxesOptions& options);
  static MaxNumBoundingBoxes from_config(const Json& config);
};

}  // namespace cornu::layers
