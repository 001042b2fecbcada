// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/core/lora_options.h"

namespace cornu::layers {

struct EmbeddingOptions {
  int64_t input_dim = 0;   // how many different indices there are; must be given, > 0
  int64_t output_dim = 0;  // must be given, > 0
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;                 // index 0 is padding: a mask rides on the output
  std::optional<int64_t> lora_rank = {};  // LoRA from the beginning: see LoraOptions
  std::optional<double> lora_alpha = {};  // taken for lora_rank, as in Keras 3.15; see enable_lora
  QuantizationConfig quantization_config = {};  // of an int8 or int4 dtype; None: its default
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.Embedding: a row of a trained table for each index.
//
// Indices of any shape (…) -> (…, output_dim). Floats are truncated to integers, as in Keras.
// OutOfRange for an index that isn't in [0, input_dim).
// Weight: embeddings (input_dim, output_dim). Quantized, or with the dtype "int8_from_float32": of
// int8, and embeddings_scale (input_dim,). As int4 ("int4/128_from_float32"): (input_dim,
// ceil(output_dim / 2)) of two numbers a byte, embeddings_scale and embeddings_zero (input_dim,
// ceil(output_dim / 128)), and g_idx (output_dim,), the block of each column; without blocks
// ("int4_from_float32") as int8.
class Embedding : public LayerHandle {
 public:
  explicit Embedding(const EmbeddingOptions& options = {});
  static Embedding from_config(const Json& config);
  // FailedPrecondition before the layer is built, NotFound for one it was made without.
  Variable embeddings() const { return weight("embeddings"); }
  // See LoraOptions.
  void enable_lora(const LoraOptions& options) const;
};

}  // namespace cornu::layers
