// SPDX-License-Identifier: Apache-2.0
// Random layers based on affine transforms. Internal: included by their .cc files.
#pragma once

#include <string>

#include "layers/preprocessing/image_layer.h"

namespace cornu::layers {

template <class Options>
class AffineLayer : public RandomImageLayer<Options> {
 protected:
  AffineLayer(const std::string& class_name, const Options& options)
      : RandomImageLayer<Options>(class_name, options) {
    this->require_one_of("fill_mode", options.fill_mode,
                         {"reflect", "wrap", "constant", "nearest"});
    this->require_one_of("interpolation", options.interpolation, {"nearest", "bilinear"});
  }

  // Draws the transforms: (batch, 8).
  virtual Tensor transforms(const Tensor& images) = 0;

  Tensor augmented(const Tensor& images) override {
    return ops::image::affine_transform(images, transforms(images),
                                        {.interpolation = this->options_.interpolation,
                                         .fill_mode = this->options_.fill_mode,
                                         .fill_value = this->options_.fill_value});
  }
};

}  // namespace cornu::layers
