// SPDX-License-Identifier: Apache-2.0
// Cosine decay over half a period, optionally after a linear warmup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers::schedules {

struct CosineDecayOptions {
  double initial_learning_rate = 0.0;
  int64_t decay_steps = 0;  // > 0
  double alpha = 0.0;       // final rate as a fraction of the initial one
  std::string name = "CosineDecay";
  std::optional<double> warmup_target = {};  // rate at the end of the warmup
  int64_t warmup_steps = 0;                  // no warmup without a target
};

// Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.
class CosineDecay final : public LearningRate {
 public:
  // Throws InvalidArgument if an option is out of range.
  explicit CosineDecay(const CosineDecayOptions& options);
};

template <class Fields>
void visit_fields(Fields& fields, CosineDecayOptions& options) {
  fields("initial_learning_rate", options.initial_learning_rate);
  fields("decay_steps", options.decay_steps);
  fields("alpha", options.alpha);
  fields("name", options.name);
  fields("warmup_target", options.warmup_target);
  fields("warmup_steps", options.warmup_steps);
}

}  // namespace cornu::optimizers::schedules
