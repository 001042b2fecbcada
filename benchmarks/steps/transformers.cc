// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/steps/transformers.h"

namespace cornu::benchmarks {
namespace {

class PositionEmbedding : public Layer {
 public:
  void build(const Shape& shape) override {
    table_ = add_weight({.shape = shape.slice(1), .initializer = "uniform", .name = "table"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return x + table_; }

 private:
  Variable table_;
};

Tensor feed_forward(const Tensor& x, int64_t units, const char* activation) {
  const Tensor inner = layers::Dense({.units = units, .activation = activation})(x);
  return layers::Dense({.units = x.shape().back()})(inner);
}

Tensor normalized(const Tensor& x) { return layers::LayerNormalization({.epsilon = 1e-5})(x); }

}  // namespace

Model encoder(int blocks, int64_t length) {
  const Tensor input = Input({.shape = {length, 512}});
  Tensor x = input;
  for (int block = 0; block < blocks; ++block) {
    x = normalized(x + layers::MultiHeadAttention({.num_heads = 8, .key_dim = 64})({x, x}));
    x = normalized(x + feed_forward(x, 2048, "relu"));
  }
  return Model(input, layers::Dense({.units = 10})(layers::GlobalAveragePooling1D()(x)));
}

Model gpt() {
  const Tensor tokens = Input({.shape = {256}, .dtype = DType::Int32});
  Tensor x = layers::Embedding({.input_dim = kVocabulary, .output_dim = 384})(tokens);
  x = make_layer<PositionEmbedding>()(x);
  for (int block = 0; block < 6; ++block) {
    const Tensor y = normalized(x);
    x = x + layers::MultiHeadAttention({.num_heads = 6, .key_dim = 64})(
                {y, y}, {.settings = Json::object({{"use_causal_mask", true}})});
    x = x + feed_forward(normalized(x), 1536, "gelu");
  }
  return Model(tokens, layers::Dense({.units = kVocabulary, .use_bias = false})(normalized(x)));
}

}  // namespace cornu::benchmarks
