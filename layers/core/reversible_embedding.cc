// SPDX-License-Identifier: Apache-2.0
#include "layers/core/reversible_embedding.h"

#include "layers/core/embedding_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, ReversibleEmbeddingOptions& options) {
  visit_embedding_fields(fields, options);
  fields("tie_weights", options.tie_weights);
  fields("reverse_dtype", options.reverse_dtype);
  fields("logit_soft_cap", options.logit_soft_cap);
}

namespace {

class ReversibleEmbeddingLayer : public EmbeddingBase<ReversibleEmbeddingOptions> {
 public:
  explicit ReversibleEmbeddingLayer(const ReversibleEmbeddingOptions& options)
      : EmbeddingBase("ReversibleEmbedding", options) {
    require(options.logit_soft_cap.value_or(1) > 0, "expected logit_soft_cap > 0, got {}.",
            options.logit_soft_cap.value_or(1));
    const std::string& reverse = options.reverse_dtype;
    require(reverse.empty() || is_floating(dtype_from_string(reverse)),
            "expected a floating-point reverse_dtype, got \"{}\".", reverse);
  }

  const CallSignature& call_signature() const override {
    static const CallSignature signature{.settings = {"reverse"}};
    return signature;
  }

  void build(const Shape& input_shape) override {
    EmbeddingBase::build(input_shape);
    if (options_.tie_weights) return;
    add_quantizable({.shape = {options_.output_dim, options_.input_dim},
                     .initializer = options_.embeddings_initializer,
                     .name = "reverse_embeddings"},
                    {.summed = {0}, .order = {0}, .shape = {options_.input_dim}},
                    {.packed = 0, .zero_point = {}});
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (flag(args, "reverse")) return logits_of(x);
    const Tensor mask = mask_of(x);
    const Tensor rows = look_up(x);
    return mask.defined() ? rows.with_mask(mask) : rows;
  }

  Tensor compute_mask(const Tensors&, const Tensor&) const override { return {}; }

 private:
  Tensor logits_of(const Tensor& rows) const {
    require(rows.rank() >= 1 && rows.shape().back() == options_.output_dim,
            "expected rows (…, {}) to go back from, got {}.", options_.output_dim, rows.shape());
    const Tensor logits = quantized_weight() ? quantized_product(rows) : product(rows);
    if (!options_.logit_soft_cap) return logits;
    return ops::tanh(logits / *options_.logit_soft_cap) * *options_.logit_soft_cap;
  }

  Tensor product(const Tensor& rows) const {
    const DType dtype = options_.reverse_dtype.empty() ? compute_dtype()
                                                       : dtype_from_string(options_.reverse_dtype);
    const Tensor kernel =
        options_.tie_weights ? ops::transpose(adapted()) : compute(quantizable(kReverse));
    return ops::matmul(ops::cast(rows, dtype), ops::cast(kernel, dtype));
  }

  // Without LoRA's contribution to the table, and in the compute dtype, as in Keras.
  Tensor quantized_product(const Tensor& rows) const {
    const Tensor x = ops::cast(rows, compute_dtype());
    const bool is_tied = options_.tie_weights;
    return quantized_weight(is_tied ? 0 : kReverse)
        ->product(x, activation_quantizer(true), QuantizedProduct::of_rows(is_tied));
  }

  static constexpr size_t kReverse = 1;  // index of the reverse projection's weight
};

}  // namespace

ReversibleEmbedding::ReversibleEmbedding(const ReversibleEmbeddingOptions& options)
    : LayerHandle(std::make_shared<ReversibleEmbeddingLayer>(options)) {}

ReversibleEmbedding ReversibleEmbedding::from_config(const Json& config) {
  return ReversibleEmbedding(read_layer_options<ReversibleEmbeddingOptions>(config));
}

}  // namespace cornu::layers
