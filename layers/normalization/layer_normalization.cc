// SPDX-License-Identifier: Apache-2.0
#include "layers/normalization/layer_normalization.h"

#include <algorithm>

#include "layers/normalization/normalization_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, LayerNormalizationOptions& options) {
  fields("axis", options.axis);
  fields("epsilon", options.epsilon);
  fields("center", options.center);
  fields("scale", options.scale);
  absent_field(fields, "rms_scaling", false);
  visit_initializer_fields(fields, options);
  visit_regularizer_fields(fields, options);
}

namespace {

class LayerNormalizationLayer : public NormalizationBase<LayerNormalizationOptions> {
 public:
  explicit LayerNormalizationLayer(const LayerNormalizationOptions& options)
      : NormalizationBase("LayerNormalization", options) {
    require(!options.axis.values().empty(), "expected an axis, got none.");
  }
  bool autocast() const override { return false; }

  void build(const Shape& input_shape) override {
    std::vector<int64_t> axes = options_.axis.values();
    std::sort(axes.begin(), axes.end());
    options_.axis = axes;
    Shape shape;
    for (const int64_t axis : axes) shape.push_back(known_axis(input_shape, axis));
    shape_ = shape;
    add_gamma_and_beta(shape);
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    const DType dtype = wide(x.dtype());
    const Tensor y = ops::layer_normalization(ops::cast(x, dtype), {.gamma = gamma(dtype),
                                                                    .beta = beta(dtype),
                                                                    .axis = options_.axis.values(),
                                                                    .epsilon = options_.epsilon});
    return ops::cast(y, compute_dtype());
  }

 protected:
  void check_input(const Shape& shape) const override {
    for (const int64_t axis : options_.axis.values()) {
      require(axis >= -shape.rank() && axis < shape.rank(),
              "expected an input with axis {}, got {}.", axis, shape);
    }
    for (int64_t i = 0; i < shape_.rank(); ++i) {
      require_axis(shape, options_.axis.values()[static_cast<size_t>(i)], shape_[i]);
    }
  }

 private:
  Shape shape_;  // sizes of the normalized axes, once built
};

}  // namespace

LayerNormalization::LayerNormalization(const LayerNormalizationOptions& options)
    : LayerHandle(std::make_shared<LayerNormalizationLayer>(options)) {}

LayerNormalization LayerNormalization::from_config(const Json& config) {
  return LayerNormalization(read_layer_options<LayerNormalizationOptions>(config));
}

}  // namespace cornu::layers
