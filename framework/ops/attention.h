// SPDX-License-Identifier: Apache-2.0
// Attention.
#pragma once

#include <optional>

#include "framework/core/tensor.h"

namespace cornu::ops {

struct DotProductAttentionOptions {
  Tensor bias = {};                  // added to the scores; broadcasts to (batch, heads, T, S)
  Tensor mask = {};                  // bool, broadcasts likewise: which scores to use
  std::optional<double> scale = {};  // factor for the scores; None: 1 / sqrt(size of a head)
  bool is_causal = false;            // query t attends only to keys up to t
};

// softmax(query * key^T * scale + bias) * value for each head (Vaswani et al. 2017).
//
// query (batch, T, heads, size), key (batch, S, key heads, size), value (batch, S, key heads,
// width) -> (batch, T, heads, width). The number of heads must be a multiple of the number of key
// heads; adjacent heads share a key head. A query whose keys are all masked attends to all of them
// equally.
//
// Scores are computed one block at a time, forward and backward, so memory grows linearly with the
// sequence length, not quadratically (Dao 2023); second-order gradients materialize all of them.
// Throws InvalidArgument when the shapes don't fit.
Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const DotProductAttentionOptions& options = {});

}  // namespace cornu::ops
