// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "framework/model/parts.h"

namespace cornu::layers {

// Keras's arguments of enable_lora, a method of Dense, EinsumDense, Embedding, ReversibleEmbedding
// and the Conv layers:
//   dense.enable_lora({.rank = 4});
// The layer's kernel (of shape (…, n)) stays as it is from then on, and what is trained in its
// stead are two small weights, a (…, rank) and b (rank, n): the layer computes with
// kernel + lora_alpha / rank * a * b. Models that have the layer are to be compiled afterwards, or
// anew.
//
// As in Keras, files of weights have this sum in the kernel's place, so that they are the same with
// and without LoRA. Loading one makes a and b zeros. The layer's config has the rank.
//
// Errors: FailedPrecondition for a layer that isn't built yet, or was adapted before;
// InvalidArgument for a rank below 1, and where the kernel has a constraint.
struct LoraOptions {
  int64_t rank = 0;                       // must be given, > 0
  std::optional<double> lora_alpha = {};  // None: as rank
  Initializer a_initializer = "he_uniform";
  Initializer b_initializer = "zeros";
};

}  // namespace cornu::layers
