// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "framework/model/parts.h"

namespace cornu::layers {

// Arguments of enable_lora, as in Keras; a method of Dense, EinsumDense, Embedding,
// ReversibleEmbedding and the Conv layers:
//   dense.enable_lora({.rank = 4});
// This freezes the layer's kernel (of shape (…, n)) and trains two small weights instead, `a` (…,
// rank) and `b` (rank, n): the layer computes with kernel + lora_alpha / rank * a * b. Models that
// contain the layer must be compiled (again) afterwards.
//
// As in Keras, weight files store this sum in place of the kernel, so that they are the same with
// and without LoRA. Loading such a file sets a and b to zero. The layer's config contains the rank.
//
// Throws FailedPrecondition for a layer that isn't built yet or is already adapted, and
// InvalidArgument for a rank below 1 and when the kernel has a constraint.
struct LoraOptions {
  int64_t rank = 0;                       // required, > 0
  std::optional<double> lora_alpha = {};  // None: rank
  Initializer a_initializer = "he_uniform";
  Initializer b_initializer = "zeros";
};

}  // namespace cornu::layers
