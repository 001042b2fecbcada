// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct GroupQueryAttentionOptions {
  int64_t head_dim = 0;             // required, > 0
  int64_t num_query_heads = 0;      // required, > 0
  int64_t num_key_value_heads = 0;  // required, a divisor of num_query_heads
  double dropout = 0;               // applied to the scores in training
  bool use_bias = true;
  std::optional<int64_t> sliding_window = {};  // attend only to keys less than this far away
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  bool use_gate = false;  // multiply the attention output by a gate computed from the query
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.GroupQueryAttention (Ainslie et al. 2023): groups of query heads share a key and
// value head. Arguments, settings and weights are as for MultiHeadAttention, with three axes:
// (batch, Tq, features), (batch, Tv, features) -> (batch, Tq, features).
class GroupQueryAttention final : public LayerHandle {
 public:
  explicit GroupQueryAttention(const GroupQueryAttentionOptions& options = {});
  static GroupQueryAttention from_config(const Json& config);
};

}  // namespace cornu::layers
