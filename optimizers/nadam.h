// SPDX-License-Identifier: Apache-2.0
// The Nadam optimizer: Adam with Nesterov momentum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct NadamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
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

// Dozat, "Incorporating Nesterov momentum into Adam", 2016.
class Nadam final : public Optimizer {
 public:
  explicit Nadam(const NadamOptions& options = {});
};

// For configs: Nadam's own options.
template <class Fields>
void visit_fields(Fields& fields, NadamOptions& options) {
  fields("beta_1", options.beta_1);
  fields("beta_2", options.beta_2);
  fields("epsilon", options.epsilon);
}

}  // namespace cornu::optimizers
