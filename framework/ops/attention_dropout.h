// SPDX-License-Identifier: Apache-2.0
// Attention with dropout, as used by layers in training.
#pragma once

#include "framework/ops/arguments.h"
#include "framework/ops/attention.h"

namespace cornu::ops {

struct AttentionDropout {
  double rate = 0;  // in [0, 1]: the fraction of the probabilities to drop
  Seed seed = {};   // drops the same ones as random::dropout on the scores
};

// dot_product_attention with dropout on the probabilities before they are multiplied with the
// values; the others are divided by 1 - rate. Keeps one byte per score for the gradient. Throws
// FailedPrecondition for a functional model's placeholders: in a layer, each call draws new
// numbers.
Tensor dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const DotProductAttentionOptions& options,
                             const AttentionDropout& dropout);

}  // namespace cornu::ops
