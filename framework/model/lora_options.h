// SPDX-License-Identifier: Apache-2.0
// Arguments of enable_lora.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/model/parts.h"

namespace cornu {

// Arguments of Layer::enable_lora, as in Keras:
//   dense.enable_lora({.rank = 4});
//   model.get_layer("dense").enable_lora({.rank = 4});
// This freezes the layer's kernel (of shape (…, n)) and trains two small weights instead, `a` (…,
// rank) and `b` (rank, n): the layer computes with kernel + lora_alpha / rank * a * b. Models that
// contain the layer must be compiled (again) afterwards.
//
// As in Keras, weight files store this sum in place of the kernel, so that they are the same with
// and without LoRA. Loading such a file sets a and b to zero. The layer's config contains the rank.
struct LoraOptions {
  int64_t rank = 0;                       // required, > 0
  std::optional<double> lora_alpha = {};  // None: rank
  Initializer a_initializer = "he_uniform";
  Initializer b_initializer = "zeros";
};

}  // namespace cornu
