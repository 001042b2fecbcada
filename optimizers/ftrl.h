// SPDX-License-Identifier: Apache-2.0
// The Ftrl optimizer: follow the regularized leader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;       // <= 0
  double initial_accumulator_value = 0.1;  // >= 0, as the following options
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
  double l2_shrinkage_regularization_strength = 0.0;
  double beta = 0.0;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = {};
};

// McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013.
class Ftrl final : public Optimizer {
 public:
  explicit Ftrl(const FtrlOptions& options = {});
};

// For configs: Ftrl's own options.
template <class Fields>
void visit_fields(Fields& fields, FtrlOptions& options) {
  fields("learning_rate_power", options.learning_rate_power);
  fields("initial_accumulator_value", options.initial_accumulator_value);
  fields("l1_regularization_strength", options.l1_regularization_strength);
  fields("l2_regularization_strength", options.l2_regularization_strength);
  fields("l2_shrinkage_regularization_strength", options.l2_shrinkage_regularization_strength);
  fields("beta", options.beta);
}

}  // namespace cornu::optimizers
