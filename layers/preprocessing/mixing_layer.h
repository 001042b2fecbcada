// SPDX-License-Identifier: Apache-2.0
// Layers that mix the images of a batch. Internal: included by their .cc files.
#pragma once

#include <vector>

#include "layers/preprocessing/image_layer.h"
#include "layers/preprocessing/image_transforms.h"

namespace cornu::layers {

// One input: images. Two inputs: a batch of images and their labels, (batch, ...), which are mixed
// in the same proportions. In dictionaries, labels and masks are mixed, too.
template <class Options>
class MixingLayer : public RandomMovingLayer<Options> {
 public:
  void build_list(const std::vector<Shape>&) override {}

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    if (is_dictionary(inputs)) return RandomMovingLayer<Options>::call_list(inputs, args);
    std::vector<Shape> shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    check_inputs(shapes);
    if (inputs.size() == 1) return this->call(inputs[0], args);
    const Tensor images = this->unified(inputs[0]);
    const Change change = this->change(images, args);
    return std::vector<Tensor>{this->restored(change.images(images), inputs[0]),
                               change.labels(inputs[1])};
  }

 protected:
  using RandomMovingLayer<Options>::RandomMovingLayer;

  virtual Mixture draw_mixture(const Tensor& images) const = 0;
  // What happens to masks and boxes.
  virtual Change mixed(const Mixture& mixture) const = 0;
  // The dtype of masks after that.
  virtual DType mask_dtype(DType dtype) const { return dtype; }

  // In inference, nothing is mixed, but dtypes are those of training.
  Change change(const Tensor& images, const CallArgs& args) override {
    if (this->draws(args)) return movement(images);
    return {
        .images = [](const Tensor& same) { return same; },
        .masks =
            [this](const Tensor& masks) { return ops::cast(masks, mask_dtype(masks.dtype())); },
        .labels = [this](const Tensor& labels) { return ops::cast(labels, this->compute_dtype()); },
    };
  }

  Change movement(const Tensor& images) final {
    const Mixture mixture = draw_mixture(images);
    const DType dtype = this->compute_dtype();
    Change change = mixed(mixture);
    change.images = [=](const Tensor& pixels) { return mix_images(pixels, mixture); };
    change.labels = [=](const Tensor& labels) {
      return mix_labels(ops::cast(labels, dtype), mixture);
    };
    return change;
  }

 private:
  void check_inputs(const std::vector<Shape>& shapes) const {
    this->require(shapes.size() == 1 || shapes.size() == 2,
                  "expected images, or images and their labels, got {} inputs.", shapes.size());
    this->check_input(shapes[0]);
    if (shapes.size() == 1) return;
    this->require(shapes[0].rank() == 4 && shapes[1].rank() > 0 && shapes[0][0] == shapes[1][0],
                  "expected a batch of images and as many labels, got {} and {}.", shapes[0],
                  shapes[1]);
  }
};

}  // namespace cornu::layers
