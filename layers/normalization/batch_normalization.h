// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

// Limits of batch renormalization's corrections: r in [rmin, rmax], d in [-dmax, dmax]; None: no
// limit.
struct RenormClipping {
  std::optional<double> rmax = {};
  std::optional<double> rmin = {};
  std::optional<double> dmax = {};
};

struct BatchNormalizationOptions {
  int64_t axis = -1;  // the feature axis
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
  double renorm_momentum = 0.99;  // for the averages from which corrections are computed
  bool synchronized = false;      // across all replicas of a strategy
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.BatchNormalization (Ioffe & Szegedy, "Batch normalization", ICML 2015).
//
// In training, computes (x - mean) / sqrt(variance + epsilon) * gamma + beta with the batch's mean
// and (biased) variance of each feature, and updates moving averages: moving = moving * momentum +
// new * (1 - momentum). In inference, and if `trainable` is false, uses the moving averages. With
// several replicas, each normalizes by its part of the batch, and the moving averages are the mean
// over replicas with examples; `synchronized` uses the statistics of the whole batch. Masked steps
// are excluded from mean and variance. 16-bit inputs are computed in float32.
//
// With `renorm` (Ioffe, "Batch renormalization", NeurIPS 2017), the value normalized by the batch
// becomes x * r + d before gamma and beta, where r = stddev / renorm_stddev and d = (mean -
// renorm_mean) / renorm_stddev are treated as constants; this is the result that moving averages
// would give.
//
// Weights: gamma, beta, moving_mean, moving_variance and, with renorm, moving_stddev, renorm_mean,
// renorm_stddev; each (features,).
class BatchNormalization final : public LayerHandle {
 public:
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
  static BatchNormalization from_config(const Json& config);
  // Throws FailedPrecondition before the layer is built, and NotFound for a weight that it doesn't
  // have.
  Variable gamma() const { return weight("gamma"); }
  Variable beta() const { return weight("beta"); }
  Variable moving_mean() const { return weight("moving_mean"); }
  Variable moving_variance() const { return weight("moving_variance"); }
};

}  // namespace cornu::layers
