// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

// Limits of batch renormalization's corrections: r in [rmin, rmax], d in [-dmax, dmax]; None: there
// is none.
struct RenormClipping {
  std::optional<double> rmax = {};
  std::optional<double> rmin = {};
  std::optional<double> dmax = {};
};

struct BatchNormalizationOptions {
  int64_t axis = -1;  // of the features
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros";
  Initializer moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  bool renorm = false;  // batch renormalization
  RenormClipping renorm_clipping = {};
  double renorm_momentum = 0.99;  // of the averages that the corrections lead to
  bool synchronized = false;      // over all replicas of a strategy
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.BatchNormalization (Ioffe & Szegedy, "Batch normalization", ICML 2015).
//
// In training, (x - mean) / sqrt(variance + epsilon) * gamma + beta with the batch's mean and
// (biased) variance of each feature; moving averages follow them, moving = moving * momentum +
// new * (1 - momentum). In inference, and where `trainable` is false, with the moving averages.
// Under a strategy each replica normalizes by its part of the batch, and the moving averages are
// the mean of those of replicas with examples; `synchronized`: by the whole batch. Steps that a
// mask hides are left out of mean and variance. 16-bit inputs are computed in float32.
//
// With `renorm` (Ioffe, "Batch renormalization", NeurIPS 2017) what is normalized by the batch
// becomes x * r + d before gamma and beta, r = stddev / renorm_stddev and d = (mean - renorm_mean)
// / renorm_stddev, as constants: what moving averages would have given.
//
// Weights: gamma, beta, moving_mean, moving_variance, and of renorm moving_stddev, renorm_mean,
// renorm_stddev; each (features,).
class BatchNormalization : public LayerHandle {
 public:
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
  static BatchNormalization from_config(const Json& config);
  // FailedPrecondition before the layer is built, NotFound for one it was made without.
  Variable gamma() const { return weight("gamma"); }
  Variable beta() const { return weight("beta"); }
  Variable moving_mean() const { return weight("moving_mean"); }
  Variable moving_variance() const { return weight("moving_variance"); }
};

}  // namespace cornu::layers
