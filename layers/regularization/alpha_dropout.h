// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct AlphaDropoutOptions {
  double rate = -1;                  // must be given, in [0, 1)
  OptionalShape noise_shape = {};    // axes of 1 are dropped as a whole; kUnknown: as the input
  std::optional<int64_t> seed = {};  // None: the next of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.AlphaDropout (Klambauer et al., "Self-Normalizing Neural Networks", 2017), for what
// "selu" gives: in training, a fraction `rate` of the elements becomes selu's negative limit, and
// all are scaled and shifted so that mean 0 and variance 1 stay. Otherwise the input as it is.
class AlphaDropout : public LayerHandle {
 public:
  explicit AlphaDropout(const AlphaDropoutOptions& options);
  static AlphaDropout from_config(const Json& config);
};

}  // namespace cornu::layers
