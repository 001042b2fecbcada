// SPDX-License-Identifier: Apache-2.0
#include "layers/pooling/adaptive_pooling.h"

#include "framework/ops/ops.h"
#include "layers/data_format.h"
#include "layers/keras_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

template <class Fields, int kAxes>
void visit_fields(Fields& fields, AdaptivePoolingOptions<kAxes>& options) {
  fields("output_size", options.output_size);
  fields("data_format", options.data_format);
}

namespace {

template <PoolingKind kKind, int kAxes>
class AdaptivePoolingLayer : public KerasLayerOf<AdaptivePoolingOptions<kAxes>> {
  using Base = KerasLayerOf<AdaptivePoolingOptions<kAxes>>;

 protected:
  using Base::label;
  using Base::options_;

 public:
  explicit AdaptivePoolingLayer(const AdaptivePoolingOptions<kAxes>& options)
      : Base(fmt::format("Adaptive{}Pooling{}D", kKind == PoolingKind::Max ? "Max" : "Average",
                         kAxes),
             options) {
    options_.data_format = check_data_format(label(), options.data_format);
    require_positive(label(), "output_size", options.output_size.values());
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    const auto& size = options_.output_size.values();
    return kKind == PoolingKind::Max ? ops::adaptive_max_pool(x, size)
                                     : ops::adaptive_average_pool(x, size);
  }

 protected:
  void check_input(const Shape& shape) const override { require_spatial(label(), shape, kAxes); }
};

}  // namespace

template <PoolingKind kKind, int kAxes>
AdaptivePooling<kKind, kAxes>::AdaptivePooling(const AdaptivePoolingOptions<kAxes>& options)
    : LayerHandle(
          std::make_shared<InDataFormat<AdaptivePoolingLayer<kKind, kAxes>, kAxes>>(options)) {}

template <PoolingKind kKind, int kAxes>
AdaptivePooling<kKind, kAxes> AdaptivePooling<kKind, kAxes>::from_config(const Json& config) {
  return AdaptivePooling(read_layer_options<AdaptivePoolingOptions<kAxes>>(config));
}

template class AdaptivePooling<PoolingKind::Max, 1>;
template class AdaptivePooling<PoolingKind::Max, 2>;
template class AdaptivePooling<PoolingKind::Max, 3>;
template class AdaptivePooling<PoolingKind::Mean, 1>;
template class AdaptivePooling<PoolingKind::Mean, 2>;
template class AdaptivePooling<PoolingKind::Mean, 3>;

}  // namespace cornu::layers
