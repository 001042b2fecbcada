// SPDX-License-Identifier: Apache-2.0
// Polynomial decay.
#pragma once

#include <cstdint>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers::schedules {

struct PolynomialDecayOptions {
  double initial_learning_rate = 0.0;
  int64_t decay_steps = 0;  // > 0
  double end_learning_rate = 0.0001;
  double power = 1.0;
  bool cycle = false;  // beyond decay_steps, restart over 2, 3, … times the steps
  std::string name = "PolynomialDecay";
};

// (initial - end) * (1 - step / decay_steps) ^ power + end
class PolynomialDecay final : public LearningRate {
 public:
  // Throws InvalidArgument if an option is out of range.
  explicit PolynomialDecay(const PolynomialDecayOptions& options);
};

template <class Fields>
void visit_fields(Fields& fields, PolynomialDecayOptions& options) {
  fields("initial_learning_rate", options.initial_learning_rate);
  fields("decay_steps", options.decay_steps);
  fields("end_learning_rate", options.end_learning_rate);
  fields("power", options.power);
  fields("cycle", options.cycle);
  fields("name", options.name);
}

}  // namespace cornu::optimizers::schedules
