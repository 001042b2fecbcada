// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct MultiHeadAttentionOptions {
  int64_t num_heads = 0;                  // must be given, > 0
  int64_t key_dim = 0;                    // of a head's queries and keys; must be given, > 0
  std::optional<int64_t> value_dim = {};  // of a head's values; by default key_dim
  double dropout = 0;                     // of the scores, in training
  bool use_bias = true;
  PartialShape output_shape = {};              // by default the query's features
  AxisList attention_axes = {};                // by default all but the batch and the features
  std::optional<int64_t> sliding_window = {};  // keys that are nearer than this alone
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // of the projections, too, as in Keras
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  bool use_gate = false;  // a gate, computed from the query, on what attention gives
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.MultiHeadAttention (Vaswani et al. 2017).
//
//   attention({query, value});
//   attention({{"query", x}, {"value", x}, {"attention_mask", mask}},
//             {.settings = Json::object({{"use_causal_mask", true}})});
//
// query (batch, Tq, features), value (batch, Tv, features), key (by default the value) -> (batch,
// Tq, output_shape). Arguments by name: query, value, key; query_mask, value_mask, key_mask (by
// default those that ride on the tensors); attention_mask (batch, Tq, Tv), bool. Settings:
// use_causal_mask; return_attention_scores: also the scores, (batch, heads, Tq, Tv). Keras's layer
// takes the masks off the tensors that it is given, so that other layers don't see them; here they
// stay.
// Weights: of query, key, (gate,) value and attention_output, an EinsumDense each.
class MultiHeadAttention : public LayerHandle {
 public:
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options = {});
  static MultiHeadAttention from_config(const Json& config);
};

}  // namespace cornu::layers
