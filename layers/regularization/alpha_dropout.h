// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct AlphaDropoutOptions {
  double rate = -1;                  // required, in [0, 1)
  OptionalShape noise_shape = {};    // axes of size 1 drop as a whole; kUnknown: as the input
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.AlphaDropout (Klambauer et al., "Self-Normalizing Neural Networks", 2017), for
// outputs of "selu": in training, sets a fraction `rate` of the elements to selu's negative limit,
// then scales and shifts all elements to preserve mean 0 and variance 1. Otherwise returns the
// input unchanged.
class AlphaDropout final : public LayerHandle {
 public:
  explicit AlphaDropout(const AlphaDropoutOptions& options);
  static AlphaDropout from_config(const Json& config);
};

}  // namespace cornu::layers
