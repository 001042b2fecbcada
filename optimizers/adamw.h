// SPDX-License-Identifier: Apache-2.0
// The AdamW optimizer: Adam with decoupled weight decay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  std::optional<double> weight_decay = 0.004;  // None: InvalidArgument
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
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

// Loshchilov & Hutter, "Decoupled weight decay regularization", ICLR 2019.
class AdamW final : public Optimizer {
 public:
  explicit AdamW(const AdamWOptions& options = {});
};

// For configs: AdamW's own options.
template <class Fields>
void visit_fields(Fields& fields, AdamWOptions& options) {
  fields("beta_1", options.beta_1);
  fields("beta_2", options.beta_2);
  fields("epsilon", options.epsilon);
  fields("amsgrad", options.amsgrad);
}

}  // namespace cornu::optimizers
