// SPDX-License-Identifier: Apache-2.0
// Random layers based on affine transforms. Internal: included by their .cc files.
#pragma once

#include <string>

#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Options>
class AffineLayer : public RandomMovingLayer<Options> {
 protected:
  AffineLayer(const std::string& class_name, const Options& options)
      : RandomMovingLayer<Options>(class_name, options) {
    this->require_one_of("fill_mode", options.fill_mode,
                         {"reflect", "wrap", "constant", "nearest"});
    this->require_one_of("interpolation", options.interpolation, {"nearest", "bilinear"});
  }

  // Draws the transforms: (batch, 8).
  virtual Tensor transforms(const Tensor& images) = 0;

  Change movement(const Tensor& images) override {
    const Options& options = this->options_;
    const Tensor drawn = transforms(images);
    const auto move = [=](const Tensor& pixels, const std::string& interpolation) {
      return ops::image::affine_transform(pixels, drawn,
                                          {.interpolation = interpolation,
                                           .fill_mode = options.fill_mode,
                                           .fill_value = options.fill_value});
    };
    return moving(move, options.interpolation,
                  [=](const Tensor& boxes) { return transform_boxes(boxes, drawn); },
                  {images.dim(1), images.dim(2)});
  }
};

}  // namespace cornu::layers
