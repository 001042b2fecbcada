// SPDX-License-Identifier: Apache-2.0
// Code shared by layers with several inputs. Internal: included by their .cc files.
#pragma once

#include <string>
#include <vector>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

// "(2, 3), (2, 4)"
inline std::string shapes_text(const std::vector<Shape>& shapes) {
  std::vector<std::string> texts;
  for (const Shape& shape : shapes) texts.push_back(shape.to_string());
  return join(texts, ", ");
}

// A layer with several inputs.
template <class Options>
class MergeBase : public KerasLayerOf<Options> {
 public:
  bool supports_masking() const override { return true; }
  void build_list(const std::vector<Shape>& shapes) override { check_inputs(shapes); }
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    std::vector<Shape> shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    check_inputs(shapes);
    return merge(inputs.list());
  }

 protected:
  using KerasLayerOf<Options>::KerasLayerOf;

  // Throws InvalidArgument unless inputs of these shapes, which may have unknown axes, can be
  // merged.
  virtual void check_inputs(const std::vector<Shape>& shapes) const = 0;
  virtual Tensor merge(const std::vector<Tensor>& inputs) const = 0;

  // For inputs of other shapes than `expected` describes. There may be many inputs: what they are
  // is only put together for an error.
  [[noreturn]] void refuse(const std::string& expected, const std::vector<Shape>& shapes) const {
    raise<InvalidArgument>("{}: {}, got shapes {}.", this->label(), expected, shapes_text(shapes));
  }
};

}  // namespace cornu::layers
