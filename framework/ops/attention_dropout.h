// SPDX-License-Identifier: Apache-2.0
// Attention as layers have it in training.
#pragma once

#include "framework/ops/arguments.h"
#include "framework/ops/attention.h"

namespace cornu::ops {

struct AttentionDropout {
  double rate = 0;  // in [0, 1]: the part of the probabilities that becomes 0
  Seed seed = {};   // of which ones; those that random::dropout drops of the scores
};

// dot_product_attention, whose probabilities are dropped before they meet the values; the others
// are divided by 1 - rate. What is kept is a byte for each score. FailedPrecondition for a
// functional model's placeholders: a layer's call draws anew each time.
Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const DotProductAttentionOptions& options,
                             const AttentionDropout& dropout);

}  // namespace cornu::ops
