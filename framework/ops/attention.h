// SPDX-License-Identifier: Apache-2.0
// Attention.
#pragma once

#include <optional>

#include "framework/core/tensor.h"

namespace cornu::ops {

struct DotProductAttentionOptions {
  Tensor bias = {};                  // added to the scores; broadcasts to (batch, heads, T, S)
  Tensor mask = {};                  // bool, broadcasts likewise: which scores count
  std::optional<double> scale = {};  // of the scores; None: 1 / sqrt(size of a head)
  bool is_causal = false;            // query t sees the keys up to t alone
};

// softmax(query * key^T * scale + bias) * value for each head (Vaswani et al. 2017).
//
// query (batch, T, heads, size), key (batch, S, key heads, size), value (batch, S, key heads,
// width) -> (batch, T, heads, width). The number of heads is a multiple of that of key heads, which
// neighbouring heads share. A query that the mask leaves no key sees all alike.
//
// The scores are made a block at a time, forward and backward, so that memory grows with the length
// of sequences, not with its square (Dao 2023); second-order gradients make all of them.
// InvalidArgument when the shapes don't fit.
Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const DotProductAttentionOptions& options = {});

}  // namespace cornu::ops
