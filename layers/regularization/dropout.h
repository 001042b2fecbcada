// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct DropoutOptions {
  double rate = -1;                  // required, in [0, 1]
  OptionalShape noise_shape = {};    // axes of size 1 drop as a whole; kUnknown: as the input
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Dropout (Srivastava et al., "Dropout", JMLR 2014): in training, sets a fraction
// `rate` of the elements to 0 and divides the others by 1 - rate. Otherwise returns the input
// unchanged.
class Dropout final : public LayerHandle {
 public:
  explicit Dropout(const DropoutOptions& options);
  static Dropout from_config(const Json& config);
};

}  // namespace cornu::layers
