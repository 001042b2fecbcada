// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/rescaling.h"

#include <algorithm>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, RescalingOptions& options) {
  fields("scale", options.scale);
  fields("offset", options.offset);
}

namespace {

class RescalingLayer : public KerasLayerOf<RescalingOptions> {
 public:
  explicit RescalingLayer(const RescalingOptions& options) : KerasLayerOf("Rescaling", options) {
    require(!options.scale.values().empty(), "expected a scale, got none.");
    require(!options.offset.values().empty(), "expected an offset, got none.");
  }
  bool supports_masking() const override { return true; }

  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor y = ops::multiply(ops::cast(x, compute_dtype()), factor(options_.scale));
    const auto& offsets = options_.offset.values();
    const bool none = std::all_of(offsets.begin(), offsets.end(), [](double o) { return o == 0; });
    return none ? y : ops::add(y, factor(options_.offset));
  }

 protected:
  void check_input(const Shape& shape) const override {
    for (const NumberList* list : {&options_.scale, &options_.offset}) {
      const auto size = static_cast<int64_t>(list->values().size());
      require(list->is_one() || (shape.rank() > 0 &&
                                 (size == 1 || shape.back() == kUnknown || shape.back() == size)),
              "expected an input of {} channels, as many as scale and offset have, got {}.", size,
              shape);
    }
  }

 private:
  Tensor factor(const NumberList& list) const {
    if (list.is_one()) return list.values()[0];
    return ops::cast(Tensor::from(list.values()), compute_dtype());
  }
};

}  // namespace

Rescaling::Rescaling(const RescalingOptions& options)
    : LayerHandle(std::make_shared<RescalingLayer>(options)) {}

Rescaling Rescaling::from_config(const Json& config) {
  return Rescaling(read_layer_options<RescalingOptions>(config));
}

}  // namespace cornu::layers
