// SPDX-License-Identifier: Apache-2.0
// The Lion optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;  // in (0, 1]
  double beta_2 = 0.99;
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

// Chen et al., "Symbolic discovery of optimization algorithms", 2023: steps of uniform size, in the
// direction of the momentum's sign.
class Lion final : public Optimizer {
 public:
  explicit Lion(const LionOptions& options = {});
};

// For configs: Lion's own options.
template <class Fields>
void visit_fields(Fields& fields, LionOptions& options) {
  fields("beta_1", options.beta_1);
  fields("beta_2", options.beta_2);
}

}  // namespace cornu::optimizers
