// SPDX-License-Identifier: Apache-2.0
// AdamW without a learning rate schedule: the trained variables are an average over all steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct ScheduleFreeAdamWOptions {
  LearningRate learning_rate = 0.0025;
  double beta_1 = 0.9;  // in (0, 1]: weight of the average in the point of evaluation
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  int64_t warmup_steps = 0;  // during which the rate rises from 0
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

// Defazio et al., "The road less scheduled", NeurIPS 2024.
class ScheduleFreeAdamW final : public Optimizer {
 public:
  explicit ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options = {});
};

// For configs: ScheduleFreeAdamW's own options.
template <class Fields>
void visit_fields(Fields& fields, ScheduleFreeAdamWOptions& options) {
  fields("beta_1", options.beta_1);
  fields("beta_2", options.beta_2);
  fields("epsilon", options.epsilon);
  fields("warmup_steps", options.warmup_steps);
}

}  // namespace cornu::optimizers
