// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/core/lora_options.h"

namespace cornu::layers {

struct ReversibleEmbeddingOptions {
  int64_t input_dim = 0;   // number of distinct indices; required, > 0
  int64_t output_dim = 0;  // required, > 0
  bool tie_weights = true;
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;                       // index 0 is padding: the output carries a mask
  DTypeName reverse_dtype = {};                 // for the way back; None: the compute dtype
  std::optional<double> logit_soft_cap = {};    // maps logits to tanh(logits / cap) * cap
  std::optional<int64_t> lora_rank = {};        // enables LoRA: see LoraOptions
  std::optional<double> lora_alpha = {};        // lora_rank is used instead, as for Embedding
  QuantizationConfig quantization_config = {};  // for an int8 or int4 dtype; None: the default
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.ReversibleEmbedding (Press & Wolf, "Using the output embedding to improve language
// models", 2016): looks up a row of a trainable table for each index, and projects rows back to
// logits.
//
//   embedding(indices)   (…) -> (…, output_dim)
//   embedding(rows, {.settings = Json::object({{"reverse", true}})})
//                        (…, output_dim) -> (…, input_dim)
//
// The reverse projection multiplies by the table's transpose or, without tie_weights, by a separate
// kernel. LoRA adapts the table, and thereby also a tied reverse projection. Throws OutOfRange for
// an index outside [0, input_dim).
// Weights: embeddings (input_dim, output_dim); without tie_weights, reverse_embeddings (output_dim,
// input_dim). When quantized, or with the dtype "int8_from_float32", these are int8, and each is
// followed by a scale, embeddings_scale and reverse_embeddings_scale (input_dim,). As int4 they are
// like Embedding's, with reverse_embeddings packed along its first axis. The reverse projection is
// then a product with the quantized weight in the compute dtype, without LoRA's contribution, as in
// Keras.
class ReversibleEmbedding final : public LayerHandle {
 public:
  explicit ReversibleEmbedding(const ReversibleEmbeddingOptions& options = {});
  static ReversibleEmbedding from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable embeddings() const { return weight("embeddings"); }
  Variable reverse_embeddings() const { return weight("reverse_embeddings"); }
};

}  // namespace cornu::layers
