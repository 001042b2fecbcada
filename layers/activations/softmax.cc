// SPDX-License-Identifier: Apache-2.0
#include "layers/activations/softmax.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, SoftmaxOptions& options) {
  fields("axis", options.axis);
}

namespace {

class SoftmaxLayer : public KerasLayerOf<SoftmaxOptions> {
 public:
  explicit SoftmaxLayer(const SoftmaxOptions& options) : KerasLayerOf("Softmax", options) {
    require(!options.axis.values().empty(), "expected an axis, got none.");
  }
  bool supports_masking() const override { return true; }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (!args.mask.defined()) return ops::softmax(x, options_.axis.values());
    require_broadcastable(args.mask.shape(), x.shape());
    const Tensor mask = ops::cast(args.mask, DType::Bool);
    // Far below any logit, yet finite in the dtype.
    const double low = x.dtype() == DType::Float16 ? -3e4 : -1e9;
    return ops::where(mask, ops::softmax(ops::where(mask, x, low), options_.axis.values()), 0.0);
  }

 private:
  void require_broadcastable(const Shape& mask, const Shape& input) const {
    bool fits = mask.rank() <= input.rank();
    for (int64_t axis = -1; fits && axis >= -mask.rank(); --axis) {
      fits = mask[axis] == 1 || mask[axis] == input[axis];
    }
    require(fits,
            "expected a mask whose axes, counted from the last, are 1 or the input's, {}, got {}.",
            input, mask);
  }
};

}  // namespace

Softmax::Softmax(const SoftmaxOptions& options)
    : LayerHandle(std::make_shared<SoftmaxLayer>(options)) {}

Softmax Softmax::from_config(const Json& config) {
  return Softmax(read_layer_options<SoftmaxOptions>(config));
}

}  // namespace cornu::layers
