// SPDX-License-Identifier: Apache-2.0
// How boxes move with the pixels under them: by their corners. Internal: included by .cc files.
#pragma once

#include "framework/core/tensor.h"

namespace cornu::bounding_boxes {

// Points, (..., boxes, 4) each.
struct Corners {
  Tensor x, y;
};

// The four corners of boxes "xyxy", (..., boxes, 4), and the boxes around such points.
Corners corners_of(const Tensor& boxes);
Tensor boxes_around(const Corners& points);

}  // namespace cornu::bounding_boxes
