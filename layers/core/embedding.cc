// SPDX-License-Identifier: Apache-2.0
#include "layers/core/embedding.h"

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, EmbeddingOptions& options) {
  fields("input_dim", options.input_dim);
  fields("output_dim", options.output_dim);
  fields("embeddings_initializer", options.embeddings_initializer);
  fields("embeddings_regularizer", options.embeddings_regularizer);
  fields("activity_regularizer", options.activity_regularizer);
  fields("embeddings_constraint", options.embeddings_constraint);
  fields("mask_zero", options.mask_zero);
  absent_field(fields, "quantization_config", nullptr);
}

namespace {

class EmbeddingLayer : public KerasLayerOf<EmbeddingOptions> {
 public:
  explicit EmbeddingLayer(const EmbeddingOptions& options) : KerasLayerOf("Embedding", options) {
    require(options.input_dim > 0, "expected input_dim > 0, got {}.", options.input_dim);
    require(options.output_dim > 0, "expected output_dim > 0, got {}.", options.output_dim);
  }
  bool supports_masking() const override { return options_.mask_zero; }
  bool autocast() const override { return false; }  // large indices don't fit a small float

  void build(const Shape&) override {
    embeddings_ = add_weight({.shape = {options_.input_dim, options_.output_dim},
                              .initializer = options_.embeddings_initializer,
                              .regularizer = options_.embeddings_regularizer,
                              .constraint = options_.embeddings_constraint,
                              .name = "embeddings"});
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor indices = is_integer(x.dtype()) ? x : ops::cast(x, DType::Int32);
    return ops::cast(ops::take(embeddings_, indices, 0), compute_dtype());
  }

  Tensor compute_mask(const Tensors& inputs, const Tensor&) const override {
    return options_.mask_zero ? ops::not_equal(inputs[0], 0) : Tensor();
  }

 private:
  Variable embeddings_;
};

}  // namespace

Embedding::Embedding(const EmbeddingOptions& options)
    : LayerHandle(std::make_shared<EmbeddingLayer>(options)) {}

Embedding Embedding::from_config(const Json& config) {
  return Embedding(read_layer_options<EmbeddingOptions>(config));
}

}  // namespace cornu::layers
