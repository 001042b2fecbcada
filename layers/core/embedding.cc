// SPDX-License-Identifier: Apache-2.0
#include "layers/core/embedding.h"

#include "layers/core/embedding_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, EmbeddingOptions& options) {
  visit_embedding_fields(fields, options);
}

namespace {

class EmbeddingLayer : public EmbeddingBase<EmbeddingOptions> {
 public:
  explicit EmbeddingLayer(const EmbeddingOptions& options) : EmbeddingBase("Embedding", options) {}

  Tensor call(const Tensor& x, const CallArgs&) override { return look_up(x); }

  Tensor compute_mask(const Tensors& inputs, const Tensor&) const override {
    return mask_of(inputs[0]);
  }
};

// The layer doesn't keep the values beside its variable.
EmbeddingOptions without_weights(EmbeddingOptions options) {
  options.weights = {};
  return options;
}

}  // namespace

Embedding::Embedding(const EmbeddingOptions& options)
    : LayerHandle(std::make_shared<EmbeddingLayer>(without_weights(options))) {
  if (!options.weights.defined()) return;
  build(Shape());
  set_weights({options.weights});
}

Embedding Embedding::from_config(const Json& config) {
  return Embedding(read_layer_options<EmbeddingOptions>(config));
}

}  // namespace cornu::layers
