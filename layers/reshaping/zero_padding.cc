// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/zero_padding.h"

#include "framework/ops/ops.h"
#include "layers/reshaping/margin_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ZeroPadding1DOptions& options) {
  fields("padding", options.padding);
  fields("data_format", options.data_format);
}

template <class Fields>
void visit_fields(Fields& fields, ZeroPadding2DOptions& options) {
  fields("padding", options.padding);
  fields("data_format", options.data_format);
}

template <class Fields>
void visit_fields(Fields& fields, ZeroPadding3DOptions& options) {
  fields("padding", options.padding);
  fields("data_format", options.data_format);
}

namespace {

template <class Options>
class ZeroPaddingLayer : public MarginLayer<Options> {
 public:
  ZeroPaddingLayer(const char* class_name, const Options& options)
      : MarginLayer<Options>(class_name, options, "padding", margins_of(options.padding)) {}

  Tensor call(const Tensor& x, const CallArgs&) override {
    std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()), {0, 0});
    for (size_t i = 0; i < this->margins().size(); ++i) {
      widths[i + 1] = {this->margins()[i].before, this->margins()[i].after};
    }
    return ops::pad(x, widths);
  }
};

}  // namespace

ZeroPadding1D::ZeroPadding1D(const ZeroPadding1DOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<ZeroPaddingLayer<ZeroPadding1DOptions>, 1>>(
          "ZeroPadding1D", options)) {}

ZeroPadding1D ZeroPadding1D::from_config(const Json& config) {
  return ZeroPadding1D(read_layer_options<ZeroPadding1DOptions>(config));
}

ZeroPadding2D::ZeroPadding2D(const ZeroPadding2DOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<ZeroPaddingLayer<ZeroPadding2DOptions>, 2>>(
          "ZeroPadding2D", options)) {}

ZeroPadding2D ZeroPadding2D::from_config(const Json& config) {
  return ZeroPadding2D(read_layer_options<ZeroPadding2DOptions>(config));
}

ZeroPadding3D::ZeroPadding3D(const ZeroPadding3DOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<ZeroPaddingLayer<ZeroPadding3DOptions>, 3>>(
          "ZeroPadding3D", options)) {}

ZeroPadding3D ZeroPadding3D::from_config(const Json& config) {
  return ZeroPadding3D(read_layer_options<ZeroPadding3DOptions>(config));
}

}  // namespace cornu::layers
