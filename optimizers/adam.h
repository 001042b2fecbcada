// SPDX-License-Identifier: Apache-2.0
// The Adam optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool amsgrad = false;
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

// Kingma & Ba, "Adam: a method for stochastic optimization", ICLR 2015 (with epsilon as in its
// section 2, "epsilon hat"); amsgrad: Reddi et al., "On the convergence of Adam and beyond", ICLR
// 2018.
class Adam final : public Optimizer {
 public:
  explicit Adam(const AdamOptions& options = {});
};

// For configs: Adam's own options.
template <class Fields>
void visit_fields(Fields& fields, AdamOptions& options) {
  fields("beta_1", options.beta_1);
  fields("beta_2", options.beta_2);
  fields("epsilon", options.epsilon);
  fields("amsgrad", options.amsgrad);
}

}  // namespace cornu::optimizers
