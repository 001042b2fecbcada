// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/core/lora_options.h"

namespace cornu::layers {

struct ReversibleEmbeddingOptions {
  int64_t input_dim = 0;   // how many different indices there are; must be given, > 0
  int64_t output_dim = 0;  // must be given, > 0
  bool tie_weights = true;
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;                       // index 0 is padding: a mask rides on the output
  DTypeName reverse_dtype = {};                 // of the way back; None: the compute dtype
  std::optional<double> logit_soft_cap = {};    // logits become tanh(logits / cap) * cap
  std::optional<int64_t> lora_rank = {};        // LoRA from the beginning: see LoraOptions
  std::optional<double> lora_alpha = {};        // taken for lora_rank, as Embedding does it
  QuantizationConfig quantization_config = {};  // of an int8 or int4 dtype; None: its default
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.ReversibleEmbedding (Press & Wolf, "Using the output embedding to improve language
// models", 2016): a row of a trained table for each index, and the way back from rows to logits.
//
//   embedding(indices)   (…) -> (…, output_dim)
//   embedding(rows, {.settings = Json::object({{"reverse", true}})})
//                        (…, output_dim) -> (…, input_dim)
//
// The way back multiplies by the table's transpose, or by a kernel of its own without tie_weights.
// LoRA adapts the table, and so the way back where that is tied to it.
// OutOfRange for an index that isn't in [0, input_dim).
// Weights: embeddings (input_dim, output_dim); without tie_weights reverse_embeddings (output_dim,
// input_dim). Quantized, or with the dtype "int8_from_float32", these are int8, and each has a
// scale behind it, embeddings_scale and reverse_embeddings_scale (input_dim,). As int4 they are as
// Embedding's, reverse_embeddings along its first axis. The way back is a product with the
// quantized weight then, in the compute dtype, without what LoRA adds, as in Keras.
class ReversibleEmbedding : public LayerHandle {
 public:
  explicit ReversibleEmbedding(const ReversibleEmbeddingOptions& options = {});
  static ReversibleEmbedding from_config(const Json& config);
  // FailedPrecondition before the layer is built, NotFound for one it was made without.
  Variable embeddings() const { return weight("embeddings"); }
  Variable reverse_embeddings() const { return weight("reverse_embeddings"); }
  // See LoraOptions.
  void enable_lora(const LoraOptions& options) const;
};

}  // namespace cornu::layers
