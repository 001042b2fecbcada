// SPDX-License-Identifier: Apache-2.0
// The Adadelta optimizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
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

// Zeiler, "ADADELTA: an adaptive learning rate method", 2012. The paper uses a learning rate of 1.
class Adadelta final : public Optimizer {
 public:
  explicit Adadelta(const AdadeltaOptions& options = {});
};

// For configs: Adadelta's own options.
template <class Fields>
void visit_fields(Fields& fields, AdadeltaOptions& options) {
  fields("rho", options.rho);
  fields("epsilon", options.epsilon);
}

}  // namespace cornu::optimizers
