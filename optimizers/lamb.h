// SPDX-License-Identifier: Apache-2.0
// The Lamb optimizer: Adam with steps relative to the size of each variable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct LambOptions {
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

// You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", ICLR 2020.
class Lamb final : public Optimizer {
 public:
  explicit Lamb(const LambOptions& options = {});
};

// For configs: Lamb's own options.
template <class Fields>
void visit_fields(Fields& fields, LambOptions& options) {
  fields("beta_1", options.beta_1);
  fields("beta_2", options.beta_2);
  fields("epsilon", options.epsilon);
}

}  // namespace cornu::optimizers
