// SPDX-License-Identifier: Apache-2.0
// The Adamax optimizer: Adam with the infinity norm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct AdamaxOptions {
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

// Kingma & Ba, "Adam: a method for stochastic optimization", ICLR 2015, section 7.
class Adamax final : public Optimizer {
 public:
  explicit Adamax(const AdamaxOptions& options = {});
};

// For configs: Adamax's own options.
template <class Fields>
void visit_fields(Fields& fields, AdamaxOptions& options) {
  fields("beta_1", options.beta_1);
  fields("beta_2", options.beta_2);
  fields("epsilon", options.epsilon);
}

}  // namespace cornu::optimizers
