// SPDX-License-Identifier: Apache-2.0
// The Adagrad optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1;
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

// Duchi et al., "Adaptive subgradient methods for online learning and stochastic optimization",
// JMLR 2011.
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(const AdagradOptions& options = {});
};

// For configs: Adagrad's own options.
template <class Fields>
void visit_fields(Fields& fields, AdagradOptions& options) {
  fields("initial_accumulator_value", options.initial_accumulator_value);
  fields("epsilon", options.epsilon);
}

}  // namespace cornu::optimizers
