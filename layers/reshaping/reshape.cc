// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/reshape.h"

#include <algorithm>

#include "framework/core/checked.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ReshapeOptions& options) {
  // Not written as a shape, in which -1 would become None.
  std::vector<int64_t> target;
  if (options.target_shape) target = options.target_shape->dims();
  fields("target_shape", target);
  options.target_shape = Shape(target);
}

namespace {

class ReshapeLayer : public KerasLayerOf<ReshapeOptions> {
 public:
  explicit ReshapeLayer(const ReshapeOptions& options) : KerasLayerOf("Reshape", options) {
    require(options.target_shape.has_value(), "expected a target_shape, got none.");
    const auto& target = options.target_shape->dims();
    const bool valid = std::all_of(target.begin(), target.end(), [](int64_t d) { return d >= -1; });
    require(valid && std::count(target.begin(), target.end(), -1) <= 1,
            "expected a target_shape of sizes >= 0 and at most one -1, got {}.",
            Json(target).excerpt());
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    Shape shape = *options_.target_shape;
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == -1) shape[axis] = inferred(x.shape());
    }
    const Shape rows = Shape{x.shape()[0]}.concat(shape);
    if (rows.num_elements() != x.num_elements() && may_fit(x.shape().slice(1))) {
      return ops::zeros(rows, x.dtype());
    }
    return ops::reshape(x, rows);
  }

 protected:
  void check_input(const Shape& shape) const override {
    require(shape.rank() >= 1, "expected input (batch, …), got a scalar.");
    const Shape example = shape.slice(1);
    if (!example.is_static()) return;
    const Shape& target = *options_.target_shape;
    const bool fits = target.is_static()
                          ? target.num_elements() == example.num_elements() || may_fit(example)
                          : inferred(shape) >= 0;
    require(fits,
            "expected input of shape (batch, …) with as many elements an example as "
            "target_shape {}, got {}, which has {}.",
            Json(target.dims()).excerpt(), shape, example.num_elements());
  }

 private:
  // Whether an example with unknown sizes may match the target's number of elements.
  bool may_fit(const Shape& example) const {
    if (!is_inferring_types() || !options_.target_shape->is_static()) return false;
    int64_t known = 1;
    bool open = false;
    for (const int64_t size : example) {
      open = open || size == unknown_size();
      known = checked_multiply(known, size == unknown_size() ? 1 : size, label());
    }
    const int64_t elements = options_.target_shape->num_elements();
    return open && (known == 0 ? elements == 0 : elements % known == 0);
  }
  // The inferred size of the -1 axis for an input of this shape; -1 if there is no such axis.
  int64_t inferred(const Shape& input_shape) const {
    int64_t others = 1;
    for (const int64_t size : *options_.target_shape) {
      others = checked_multiply(others, size == -1 ? 1 : size, label());
    }
    const int64_t elements = input_shape.slice(1).num_elements();
    if (others == 0) return elements == 0 ? 0 : -1;
    return elements % others == 0 ? elements / others : -1;
  }
};

}  // namespace

Reshape::Reshape(const ReshapeOptions& options)
    : LayerHandle(std::make_shared<ReshapeLayer>(options)) {}

Reshape Reshape::from_config(const Json& config) {
  return Reshape(read_layer_options<ReshapeOptions>(config));
}

}  // namespace cornu::layers
