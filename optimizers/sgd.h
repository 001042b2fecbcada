// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent, optionally with momentum.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.0;  // in [0, 1]
  bool nesterov = false;
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

// w -= learning_rate * g; with momentum m = momentum * m - learning_rate * g, w += m (Nesterov:
// w += momentum * m - learning_rate * g).
class SGD final : public Optimizer {
 public:
  explicit SGD(const SGDOptions& options = {});
};

// For configs: SGD's own options.
template <class Fields>
void visit_fields(Fields& fields, SGDOptions& options) {
  fields("momentum", options.momentum);
  fields("nesterov", options.nesterov);
}

}  // namespace cornu::optimizers
