// SPDX-License-Identifier: Apache-2.0
#include "layers/core/embedding.h"

#include "layers/core/embedding_base.h"
#include "layers/core/lora.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, EmbeddingOptions& options) {
  visit_embedding_fields(fields, options);
  visit_lora_fields(fields, options);
}

namespace {

class EmbeddingLayer : public WithLora<EmbeddingBase<EmbeddingOptions>> {
 public:
  explicit EmbeddingLayer(const EmbeddingOptions& options) : WithLora("Embedding", options) {}

  void build(const Shape& input_shape) override {
    EmbeddingBase::build(input_shape);
    adapt(embeddings(), options_.embeddings_regularizer, options_.embeddings_constraint, {});
  }

  Tensor call(const Tensor& x, const CallArgs&) override {
    return lora() ? ops::cast(lora()->rows_at(indices_of(x)), compute_dtype()) : look_up(x);
  }

  Tensor compute_mask(const Tensors& inputs, const Tensor&) const override {
    return mask_of(inputs[0]);
  }
};

}  // namespace

Embedding::Embedding(const EmbeddingOptions& options)
    : LayerHandle(std::make_shared<EmbeddingLayer>(options)) {}

void Embedding::enable_lora(const LoraOptions& options) const {
  layers::enable_lora(*this, options);
}

Embedding Embedding::from_config(const Json& config) {
  return Embedding(read_layer_options<EmbeddingOptions>(config));
}

}  // namespace cornu::layers
