// SPDX-License-Identifier: Apache-2.0
// Layers that mix the images of a batch. Internal: included by their .cc files.
#pragma once

#include <string>
#include <vector>

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

// One input: images. Two inputs: a batch of images and their labels, (batch, ...), which are mixed
// in the same proportions.
template <class Options>
class MixingLayer : public RandomImageLayer<Options> {
 public:
  void build_list(const std::vector<Shape>& input_shapes) override { check_inputs(input_shapes); }

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    std::vector<Shape> shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    check_inputs(shapes);
    if (inputs.size() == 1) return this->call(inputs[0], args);
    const Tensor labels = ops::cast(inputs[1], this->compute_dtype());
    const Tensor images = this->unified(inputs[0]);
    if (!this->draws(args)) return std::vector<Tensor>{this->restored(images, inputs[0]), labels};
    const Mixture mixture = draw_mixture(images);
    return std::vector<Tensor>{this->restored(mix_images(images, mixture), inputs[0]),
                               mix_labels(labels, mixture)};
  }

 protected:
  using RandomImageLayer<Options>::RandomImageLayer;

  virtual Mixture draw_mixture(const Tensor& images) const = 0;

  Tensor augmented(const Tensor& images) override {
    return mix_images(images, draw_mixture(images));
  }

 private:
  void check_inputs(const std::vector<Shape>& shapes) const {
    this->require(shapes.size() == 1 || shapes.size() == 2,
                  "expected pictures, or pictures and their labels, got {} inputs.", shapes.size());
    this->check_input(shapes[0]);
    if (shapes.size() == 1) return;
    this->require(shapes[0].rank() == 4 && shapes[1].rank() > 0 && shapes[0][0] == shapes[1][0],
                  "expected a batch of pictures and as many labels, got {} and {}.", shapes[0],
                  shapes[1]);
  }
};

}  // namespace cornu::layers
