// SPDX-License-Identifier: Apache-2.0
// Gaussian noise and dropout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct GaussianNoiseOptions {
  double stddev = -1;                // required, in [0, 1]
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.GaussianNoise: in training, adds normal noise with mean 0. Otherwise returns the
// input.
class GaussianNoise final : public LayerHandle {
 public:
  explicit GaussianNoise(const GaussianNoiseOptions& options);
  static GaussianNoise from_config(const Json& config);
};

struct GaussianDropoutOptions {
  double rate = -1;                  // required, in [0, 1)
  std::optional<int64_t> seed = {};  // None: the next seed of this thread's sequence
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.GaussianDropout (Srivastava et al., "Dropout", JMLR 2014): in training, multiplies
// by normal noise with mean 1 and standard deviation sqrt(rate / (1 - rate)). Otherwise returns the
// input.
class GaussianDropout final : public LayerHandle {
 public:
  explicit GaussianDropout(const GaussianDropoutOptions& options);
  static GaussianDropout from_config(const Json& config);
};

}  // namespace cornu::layers
