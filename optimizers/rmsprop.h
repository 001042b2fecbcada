// SPDX-License-Identifier: Apache-2.0
// The RMSprop optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9;
  double momentum = 0.0;
  double epsilon = 1e-7;
  bool centered = false;  // divide by the estimated variance instead of the mean square
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

// Hinton's lecture 6e, 2012; centered as in Graves, "Generating sequences with recurrent neural
// networks", 2013.
class RMSprop final : public Optimizer {
 public:
  explicit RMSprop(const RMSpropOptions& options = {});
};

// For configs: RMSprop's own options.
template <class Fields>
void visit_fields(Fields& fields, RMSpropOptions& options) {
  fields("rho", options.rho);
  fields("momentum", options.momentum);
  fields("epsilon", options.epsilon);
  fields("centered", options.centered);
}

}  // namespace cornu::optimizers
