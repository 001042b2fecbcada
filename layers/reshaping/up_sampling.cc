// SPDX-License-Identifier: Apache-2.0
#include "layers/reshaping/up_sampling.h"

#include <algorithm>
#include <string>
#include <vector>

#include "framework/core/checked.h"
#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "layers/data_format.h"
#include "layers/keras_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, UpSampling1DOptions& options) {
  fields("size", options.size);
}

template <class Fields>
void visit_fields(Fields& fields, UpSampling3DOptions& options) {
  fields("size", options.size);
  fields("data_format", options.data_format);
}

template <class Fields>
void visit_fields(Fields& fields, UpSampling2DOptions& options) {
  fields("size", options.size);
  fields("data_format", options.data_format);
  fields("interpolation", options.interpolation);
}

namespace {

std::vector<int64_t> times_of(int64_t size) { return {size}; }
template <int kAxes>
const std::vector<int64_t>& times_of(const Size<kAxes>& size) {
  return size.values();
}

// Repeats elements along each spatial axis.
template <class Options>
class UpSamplingLayer : public KerasLayerOf<Options> {
 public:
  UpSamplingLayer(const char* class_name, const Options& options)
      : KerasLayerOf<Options>(class_name, options) {
    if constexpr (requires { options.data_format; }) {
      this->options_.data_format = check_data_format(this->label(), options.data_format);
    }
    require_positive(this->label(), "size", times_of(options.size));
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    Tensor result = x;
    int64_t axis = 1;
    for (const int64_t times : times_of(this->options_.size)) {
      result = ops::repeat(result, times, axis++);
    }
    return result;
  }

 protected:
  void check_input(const Shape& shape) const override {
    require_spatial(this->label(), shape,
                    static_cast<int64_t>(times_of(this->options_.size).size()));
  }
};

class UpSampling2DLayer : public UpSamplingLayer<UpSampling2DOptions> {
 public:
  explicit UpSampling2DLayer(const UpSampling2DOptions& options)
      : UpSamplingLayer("UpSampling2D", options) {
    const std::vector<std::string> known = {"nearest", "bilinear", "bicubic", "lanczos3",
                                            "lanczos5"};
    require(std::count(known.begin(), known.end(), options.interpolation) > 0,
            "unknown interpolation '{}'.{}", options.interpolation,
            did_you_mean(options.interpolation, known));
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (options_.interpolation == "nearest") return UpSamplingLayer::call(x, args);
    const int64_t height = checked_multiply(x.dim(1), options_.size[0], label());
    const int64_t width = checked_multiply(x.dim(2), options_.size[1], label());
    return ops::image::resize(x, {height, width}, {.interpolation = options_.interpolation});
  }
};

}  // namespace

UpSampling2D::UpSampling2D(const UpSampling2DOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<UpSampling2DLayer, 2>>(options)) {}

UpSampling2D UpSampling2D::from_config(const Json& config) {
  return UpSampling2D(read_layer_options<UpSampling2DOptions>(config));
}

UpSampling1D::UpSampling1D(const UpSampling1DOptions& options)
    : LayerHandle(std::make_shared<UpSamplingLayer<UpSampling1DOptions>>("UpSampling1D", options)) {
}

UpSampling1D UpSampling1D::from_config(const Json& config) {
  return UpSampling1D(read_layer_options<UpSampling1DOptions>(config));
}

UpSampling3D::UpSampling3D(const UpSampling3DOptions& options)
    : LayerHandle(std::make_shared<InDataFormat<UpSamplingLayer<UpSampling3DOptions>, 3>>(
          "UpSampling3D", options)) {}

UpSampling3D UpSampling3D::from_config(const Json& config) {
  return UpSampling3D(read_layer_options<UpSampling3DOptions>(config));
}

}  // namespace cornu::layers
