// SPDX-License-Identifier: Apache-2.0
// Exponential decay.
#pragma once

#include <cstdint>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers::schedules {

struct ExponentialDecayOptions {
  double initial_learning_rate = 0.0;
  int64_t decay_steps = 0;  // > 0
  double decay_rate = 0.0;
  bool staircase = false;  // round step / decay_steps down
  std::string name = "ExponentialDecay";
};

// initial_learning_rate * decay_rate ^ (step / decay_steps)
class ExponentialDecay final : public LearningRate {
 public:
  // Throws InvalidArgument if an option is out of range.
  explicit ExponentialDecay(const ExponentialDecayOptions& options);
};

template <class Fields>
void visit_fields(Fields& fields, ExponentialDecayOptions& options) {
  fields("initial_learning_rate", options.initial_learning_rate);
  fields("decay_steps", options.decay_steps);
  fields("decay_rate", options.decay_rate);
  fields("staircase", options.staircase);
  fields("name", options.name);
}

}  // namespace cornu::optimizers::schedules
