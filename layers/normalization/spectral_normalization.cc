// SPDX-License-Identifier: Apache-2.0
#include "layers/normalization/spectral_normalization.h"

#include "framework/model/initializers.h"
#include "framework/ops/ops.h"
#include "layers/core/wrapper.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, SpectralNormalizationOptions& options) {
  fields("power_iterations", options.power_iterations);
}

namespace {

class SpectralNormalizationLayer : public WrapperOf<KerasLayer> {
 public:
  SpectralNormalizationLayer(const LayerHandle& layer, const SpectralNormalizationOptions& options)
      : WrapperOf(layer, "SpectralNormalization", base_options(options)), options_(options) {
    constexpr int64_t kMax = 1000;  // each is a few nodes of the graph
    require(options.power_iterations > 0 && options.power_iterations <= kMax,
            "expected power_iterations from 1 to {}, got {}.", kMax, options.power_iterations);
  }

  void build(const Shape& input_shape) override {
    WrapperOf::build(input_shape);
    kernel_ = kernel_of_layer();
    const std::string path = kernel_.path();
    track("kernel", kernel_);  // also saved here in files, as in Keras
    kernel_.set_path(path);
    vector_u_ = add_weight({.shape = {1, kernel_.shape().back()},
                            .initializer = initializers::TruncatedNormal({.stddev = 0.02}),
                            .dtype = kernel_.dtype(),
                            .trainable = false,
                            .name = "vector_u"});
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (args.training) normalize_kernel();
    const Tensor y = layer()(x, args);
    return is_floating(x.dtype()) ? ops::cast(y, x.dtype()) : y;
  }

  Json get_config() const override {
    Json config = WrapperOf::get_config();
    write_options(config, options_);
    return config;
  }

 private:
  Variable kernel_of_layer() const {
    for (const char* name : {"kernel", "embeddings"}) {
      for (const Variable& weight : layer().get().own_weights()) {
        if (weight.name() == name) return weight;
      }
    }
    raise<NotFound>("{}: expected a layer with a weight \"kernel\" or \"embeddings\", got {} '{}'.",
                    label(), layer().get().class_name(), layer().name());
  }

  void normalize_kernel() const {
    const Tensor kernel = ops::stop_gradient(kernel_.value());
    const Tensor matrix = ops::reshape(kernel, {-1, kernel.shape().back()});
    const Tensor old_u = ops::stop_gradient(vector_u_.value());
    Tensor u = old_u, v;
    for (int64_t i = 0; i < options_.power_iterations; ++i) {
      v = ops::normalize(ops::matmul(u, ops::transpose(matrix)), {.axis = {}});
      u = ops::normalize(ops::matmul(v, matrix), {.axis = {}});
    }
    const Tensor sigma = ops::reshape(ops::matmul(ops::matmul(v, matrix), ops::transpose(u)), {});
    const Tensor zero = ops::all(ops::equal(kernel, 0));  // a zero kernel has no direction
    vector_u_.assign(ops::where(zero, old_u, u));
    kernel_.assign(ops::where(zero, kernel, kernel / sigma));
  }

  SpectralNormalizationOptions options_;
  Variable kernel_;
  Variable vector_u_;
};

}  // namespace

SpectralNormalization::SpectralNormalization(const LayerHandle& layer,
                                             const SpectralNormalizationOptions& options)
    : LayerHandle(std::make_shared<SpectralNormalizationLayer>(layer, options)) {}

SpectralNormalization SpectralNormalization::from_config(const Json& config) {
  return SpectralNormalization(layer_from_json(config.at("layer")),
                               read_layer_options<SpectralNormalizationOptions>(config));
}

}  // namespace cornu::layers
