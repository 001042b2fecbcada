// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/core/lora_options.h"

namespace cornu::layers {

struct EmbeddingOptions {
  int64_t input_dim = 0;   // number of distinct indices; required, > 0
  int64_t output_dim = 0;  // required, > 0
  Initializer embeddings_initializer = "uniform";
  Regularizer embeddings_regularizer = {};
  Constraint embeddings_constraint = {};
  bool mask_zero = false;                       // index 0 is padding: the output carries a mask
  Tensor weights = {};                          // the table's first value; None: initialized
  std::optional<int64_t> lora_rank = {};        // enables LoRA: see LoraOptions
  std::optional<double> lora_alpha = {};        // lora_rank is used instead, as in Keras 3.15
  QuantizationConfig quantization_config = {};  // for an int8 or int4 dtype; None: the default
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.Embedding: looks up a row of a trainable table for each index.
//
// Indices of any shape (…) -> (…, output_dim). Floats are truncated to integers, as in Keras.
// Throws OutOfRange for an index outside [0, input_dim), InvalidArgument for `weights` of another
// shape than (input_dim, output_dim).
//
//   layers::Embedding({.input_dim = 20000, .output_dim = 100, .weights = vectors,
//                      .trainable = false})
//
// Weight: embeddings (input_dim, output_dim). When quantized, or with the dtype
// "int8_from_float32": embeddings as int8, and embeddings_scale (input_dim,). As int4
// ("int4/128_from_float32"): embeddings (input_dim, ceil(output_dim / 2)) with two numbers per
// byte, embeddings_scale and embeddings_zero (input_dim, ceil(output_dim / 128)), and g_idx
// (output_dim,), the block of each column; without blocks ("int4_from_float32"), scales are as for
// int8.
class Embedding final : public LayerHandle {
 public:
  explicit Embedding(const EmbeddingOptions& options = {});
  static Embedding from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable embeddings() const { return weight("embeddings"); }
};

}  // namespace cornu::layers
