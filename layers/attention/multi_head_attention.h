// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct MultiHeadAttentionOptions {
  int64_t num_heads = 0;                  // required, > 0
  int64_t key_dim = 0;                    // size of a head's queries and keys; required, > 0
  std::optional<int64_t> value_dim = {};  // size of a head's values; default: key_dim
  double dropout = 0;                     // applied to the scores in training
  bool use_bias = true;
  PartialShape output_shape = {};              // default: the query's features
  AxisList attention_axes = {};                // default: all but batch and features
  std::optional<int64_t> sliding_window = {};  // attend only to keys less than this far away
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};  // also applied to the projections, as in Keras
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  bool use_gate = false;  // multiply the attention output by a gate computed from the query
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
// query (batch, Tq, features), value (batch, Tv, features), key (default: value) -> (batch, Tq,
// output_shape). Named arguments: query, value, key; query_mask, value_mask, key_mask (default: the
// masks carried by the tensors); attention_mask (batch, Tq, Tv), bool. Settings: use_causal_mask;
// return_attention_scores: also return the scores, (batch, heads, Tq, Tv). Keras's layer removes
// the masks from the tensors passed to it, so that other layers don't see them; here they are kept.
// Weights: those of query, key, (gate,) value and attention_output, each an EinsumDense.
class MultiHeadAttention final : public LayerHandle {
 public:
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options = {});
  static MultiHeadAttention from_config(const Json& config);
};

}  // namespace cornu::layers
