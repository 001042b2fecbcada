// SPDX-License-Identifier: Apache-2.0
// Half a cosine wave, after a linear warmup if wanted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers::schedules {

struct CosineDecayOptions {
  double initial_learning_rate = 0.0;
  int64_t decay_steps = 0;  // > 0
  double alpha = 0.0;       // the last rate, as a fraction of the first
  std::string name = "CosineDecay";
  std::optional<double> warmup_target = {};  // where the warmup ends and the decay starts
  int64_t warmup_steps = 0;                  // without a target there is no warmup
};

// Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.
class CosineDecay : public LearningRate {
 public:
  // InvalidArgument where an option is out of its range.
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
