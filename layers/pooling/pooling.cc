// SPDX-License-Identifier: Apache-2.0
#include "layers/pooling/pooling.h"

#include "framework/ops/ops.h"
#include "layers/data_format.h"
#include "layers/keras_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

template <class Fields, int kAxes>
void visit_fields(Fields& fields, PoolingOptions<kAxes>& options) {
  fields("pool_size", options.pool_size);
  fields("padding", options.padding);
  fields("strides", options.strides);
  fields("data_format", options.data_format);
}

namespace {

template <PoolingKind kKind, int kAxes>
class PoolingLayer : public KerasLayerOf<PoolingOptions<kAxes>> {
  using Base = KerasLayerOf<PoolingOptions<kAxes>>;

 protected:
  using Base::label;
  using Base::options_;

 public:
  explicit PoolingLayer(const PoolingOptions<kAxes>& options)
      : Base(fmt::format("{}Pooling{}D", kKind == PoolingKind::Max ? "Max" : "Average", kAxes),
             options) {
    options_.strides = options.strides.value_or(options.pool_size);
    options_.padding = check_padding(label(), options.padding);
    options_.data_format = check_data_format(label(), options.data_format);
    require_positive(label(), "pool_size", options_.pool_size.values());
    require_positive(label(), "strides", options_.strides.values());
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    const auto& window = options_.pool_size.values();
    const ops::PoolOptions how = {.strides = options_.strides.values(),
                                  .padding = options_.padding};
    return kKind == PoolingKind::Max ? ops::max_pool(x, window, how)
                                     : ops::average_pool(x, window, how);
  }

 protected:
  void check_input(const Shape& shape) const override {
    require_spatial(label(), shape, kAxes);
    require_window(label(), shape, options_.pool_size.values(), options_.padding);
  }
};

}  // namespace

template <PoolingKind kKind, int kAxes>
Pooling<kKind, kAxes>::Pooling(const PoolingOptions<kAxes>& options)
    : LayerHandle(std::make_shared<InDataFormat<PoolingLayer<kKind, kAxes>, kAxes>>(options)) {}

template <PoolingKind kKind, int kAxes>
Pooling<kKind, kAxes> Pooling<kKind, kAxes>::from_config(const Json& config) {
  return Pooling(read_layer_options<PoolingOptions<kAxes>>(config));
}

template class Pooling<PoolingKind::Max, 1>;
template class Pooling<PoolingKind::Max, 2>;
template class Pooling<PoolingKind::Max, 3>;
template class Pooling<PoolingKind::Mean, 1>;
template class Pooling<PoolingKind::Mean, 2>;
template class Pooling<PoolingKind::Mean, 3>;

}  // namespace cornu::layers
