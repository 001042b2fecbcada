// SPDX-License-Identifier: Apache-2.0
#include "layers/pooling/global_pooling.h"

#include <numeric>

#include "framework/ops/ops.h"
#include "layers/data_format.h"
#include "layers/keras_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, GlobalPoolingOptions& options) {
  fields("data_format", options.data_format);
  fields("keepdims", options.keepdims);
}

namespace {

template <PoolingKind kKind, int kAxes>
class GlobalPoolingLayer : public KerasLayerOf<GlobalPoolingOptions> {
  static constexpr bool kMasked = kKind == PoolingKind::Mean && kAxes == 1;

 public:
  explicit GlobalPoolingLayer(const GlobalPoolingOptions& options)
      : KerasLayerOf(
            fmt::format("Global{}Pooling{}D", kKind == PoolingKind::Max ? "Max" : "Average", kAxes),
            options) {
    options_.data_format = check_data_format(label(), options.data_format);
  }
  bool supports_masking() const override { return kMasked; }
  Tensor compute_mask(const Tensors&, const Tensor&) const override { return {}; }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    std::vector<int64_t> axes(kAxes);
    std::iota(axes.begin(), axes.end(), 1);
    if (kKind == PoolingKind::Max) return ops::max(x, axes, options_.keepdims);
    if (!kMasked || !args.mask.defined()) return ops::mean(x, axes, options_.keepdims);
    const Tensor mask = ops::cast(ops::expand_dims(args.mask, 2), DType::Bool);
    return ops::divide(ops::sum(ops::where(mask, x, 0), axes, options_.keepdims),
                       ops::sum(ops::cast(mask, x.dtype()), axes, options_.keepdims));
  }

 protected:
  void check_input(const Shape& shape) const override { require_spatial(label(), shape, kAxes); }
};

}  // namespace

template <PoolingKind kKind, int kAxes>
GlobalPooling<kKind, kAxes>::GlobalPooling(const GlobalPoolingOptions& options)
    : LayerHandle(
          std::make_shared<InDataFormat<GlobalPoolingLayer<kKind, kAxes>, kAxes>>(options)) {}

template <PoolingKind kKind, int kAxes>
GlobalPooling<kKind, kAxes> GlobalPooling<kKind, kAxes>::from_config(const Json& config) {
  return GlobalPooling(read_layer_options<GlobalPoolingOptions>(config));
}

template class GlobalPooling<PoolingKind::Max, 1>;
template class GlobalPooling<PoolingKind::Max, 2>;
template class GlobalPooling<PoolingKind::Max, 3>;
template class GlobalPooling<PoolingKind::Mean, 1>;
template class GlobalPooling<PoolingKind::Mean, 2>;
template class GlobalPooling<PoolingKind::Mean, 3>;

}  // namespace cornu::layers
