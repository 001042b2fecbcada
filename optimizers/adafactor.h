// SPDX-License-Identifier: Apache-2.0
// The Adafactor optimizer: Adam with factored second moments for matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;   // second-moment momentum: 1 - step^beta_2_decay
  double epsilon_1 = 1e-30;     // added to squared gradients
  double epsilon_2 = 1e-3;      // minimum size of a variable, relative to which steps are taken
  double clip_threshold = 1.0;  // for the root mean square of a variable's update
  bool relative_step = true;    // only for configs: as in Keras, steps are always relative
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

// Shazeer & Stern, "Adafactor: adaptive learning rates with sublinear memory cost", ICML 2018, as
// implemented in Keras (which also stores the full second moments). The learning rate is at most 1
// / sqrt(step).
class Adafactor final : public Optimizer {
 public:
  explicit Adafactor(const AdafactorOptions& options = {});
};

// For configs: Adafactor's own options.
template <class Fields>
void visit_fields(Fields& fields, AdafactorOptions& options) {
  fields("beta_2_decay", options.beta_2_decay);
  fields("epsilon_1", options.epsilon_1);
  fields("epsilon_2", options.epsilon_2);
  fields("clip_threshold", options.clip_threshold);
  fields("relative_step", options.relative_step);
}

}  // namespace cornu::optimizers
