// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/cropping.h"

#include "framework/ops/ops.h"
#include "layers/reshaping/margin_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, Cropping1DOptions& options) {
  fields("cropping", options.cropping);
}

template <class Fields>
void visit_fields(Fields& fields, Cropping2DOptions& options) {
  fields("cropping", options.cropping);
  fields("data_format", options.data_format);
}

template <class Fields>
void visit_fields(Fields& fields, Cropping3DOptions& options) {
  fields("cropping", options.cropping);
  fields("data_format", options.data_format);
}

namespace {

template <class Options>
class CroppingLayer : public MarginLayer<Options> {
  using Base = MarginLayer<Options>;

 public:
  CroppingLayer(const char* class_name, const Options& options)
      : Base(class_name, options, "cropping", margins_of(options.cropping)) {}

  Tensor call(const Tensor& x, const CallArgs&) override {
    std::vector<int64_t> start(static_cast<size_t>(x.rank()), 0);
    std::vector<int64_t> size = x.shape().dims();
    for (size_t i = 0; i < this->margins().size(); ++i) {
      start[i + 1] = this->margins()[i].before;
      size[i + 1] -= this->margins()[i].before + this->margins()[i].after;
    }
    return ops::slice(x, start, size);
  }

 protected:
  void check_input(const Shape& shape) const override {
    Base::check_input(shape);
    for (size_t i = 0; i < this->margins().size(); ++i) {
      const int64_t size = shape[static_cast<int64_t>(i) + 1];
      const int64_t cut = this->margins()[i].before + this->margins()[i].after;
      this->require(size == kUnknown || size > cut,
                    "expected more than the {} elements to be cut off on axis {}, got {}.", cut,
                    i + 1, shape);
    }
  }
};

}  // namespace

Cropping1D::Cropping1D(const Cropping1DOptions& options)
    : LayerHandle(std::make_shared<CroppingLayer<Cropping1DOptions>>("Cropping1D", options)) {}

Cropping1D Cropping1D::from_config(const Json& config) {
  return Cropping1D(read_layer_options<Cropping1DOptions>(config));
}

Cropping2D::Cropping2D(const Cropping2DOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<CroppingLayer<Cropping2DOptions>, 2>>("Cropping2D",
                                                                                      options)) {}

Cropping2D Cropping2D::from_config(const Json& config) {
  return Cropping2D(read_layer_options<Cropping2DOptions>(config));
}

Cropping3D::Cropping3D(const Cropping3DOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<CroppingLayer<Cropping3DOptions>, 3>>("Cropping3D",
                                                                                      options)) {}

Cropping3D Cropping3D::from_config(const Json& config) {
  return Cropping3D(read_layer_options<Cropping3DOptions>(config));
}

}  // namespace cornu::layers
