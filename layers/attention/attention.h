// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct AttentionOptions {
  bool use_scale = false;          // trainable scale of the scores
  std::string score_mode = "dot";  // or "concat": the sum of tanh(query + key)
  double dropout = 0;              // applied to the scores in training
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.Attention: dot-product attention (Luong et al. 2015).
//
//   attention({query, value});  attention({query, value, key}, {.mask = {query_mask, value_mask}});
//   attention({query, value}, {.settings = {{"use_causal_mask", true}}});
//
// query (batch, Tq, dim), value (batch, Tv, dim), key (batch, Tv, dim; default: value) -> (batch,
// Tq, dim). With the setting return_attention_scores, also returns the scores (batch, Tq, Tv).
// Weights: scale () with use_scale; concat_score_weight () for "concat".
class Attention final : public LayerHandle {
 public:
  explicit Attention(const AttentionOptions& options = {});
  static Attention from_config(const Json& config);
};

struct AdditiveAttentionOptions {
  bool use_scale = true;
  double dropout = 0;
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// keras.layers.AdditiveAttention (Bahdanau et al. 2015): scores are sums of scale * tanh(query +
// key). Inputs, masks and settings are as for Attention.
// Weight: scale (dim), with use_scale.
class AdditiveAttention final : public LayerHandle {
 public:
  explicit AdditiveAttention(const AdditiveAttentionOptions& options = {});
  static AdditiveAttention from_config(const Json& config);
};

}  // namespace cornu::layers
