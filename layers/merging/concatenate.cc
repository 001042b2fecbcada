// SPDX-License-Identifier: Apache-2.0
#include "layers/merging/concatenate.h"

#include "layers/merging/merge_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ConcatenateOptions& options) {
  fields("axis", options.axis);
}

namespace {

class ConcatenateLayer : public MergeBase<ConcatenateOptions> {
 public:
  explicit ConcatenateLayer(const ConcatenateOptions& options)
      : MergeBase("Concatenate", options) {}

  Tensor compute_mask(const Tensors& inputs, const Tensor&) const override {
    bool any = false;
    std::vector<Tensor> masks;
    for (const Tensor& input : inputs) {
      Tensor mask = input.mask();
      any |= mask.defined();
      if (!mask.defined()) {
        mask = ops::ones(input.shape(), DType::Bool);
      } else if (mask.rank() < input.rank()) {
        mask = ops::broadcast_to(ops::expand_dims(mask, -1), input.shape());
      }
      masks.push_back(mask);
    }
    return any ? ops::any(ops::concatenate(masks, options_.axis), -1) : Tensor();
  }

 protected:
  void check_inputs(const std::vector<Shape>& shapes) const override {
    const int64_t rank = shapes[0].rank();
    require(options_.axis >= -rank && options_.axis < rank,
            "expected inputs with axis {}, got shapes {}.", options_.axis, shapes_text(shapes));
    const int64_t joined = shapes[0].normalize_axis(options_.axis, label());
    for (const Shape& shape : shapes) {
      bool fits = shape.rank() == rank;
      for (int64_t axis = 0; fits && axis < rank; ++axis) {
        fits = axis == joined || shape[axis] == shapes[0][axis] || shape[axis] == kUnknown ||
               shapes[0][axis] == kUnknown;
      }
      if (!fits) {
        refuse(fmt::format("expected inputs of the same sizes on all axes but {}", joined), shapes);
      }
    }
  }

  Tensor merge(const std::vector<Tensor>& inputs) const override {
    return ops::concatenate(inputs, options_.axis);
  }
};

}  // namespace

Concatenate::Concatenate(const ConcatenateOptions& options)
    : LayerHandle(std::make_shared<ConcatenateLayer>(options)) {}

Concatenate Concatenate::from_config(const Json& config) {
  return Concatenate(read_layer_options<ConcatenateOptions>(config));
}

}  // namespace cornu::layers
