// SPDX-License-Identifier: Apache-2.0
// Half cosine waves, one after the other.
#pragma once

#include <cstdint>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers::schedules {

struct CosineDecayRestartsOptions {
  double initial_learning_rate = 0.0;
  int64_t first_decay_steps = 0;  // > 0
  double t_mul = 2.0;             // each wave is so much longer than the one before
  double m_mul = 1.0;             // and starts at so much of its rate
  double alpha = 0.0;             // the lowest rate, as a fraction of the first
  std::string name = "SGDRDecay";
};

// Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.
class CosineDecayRestarts : public LearningRate {
 public:
  // InvalidArgument where an option is out of its range.
  explicit CosineDecayRestarts(const CosineDecayRestartsOptions& options);
};

template <class Fields>
void visit_fields(Fields& fields, CosineDecayRestartsOptions& options) {
  fields("initial_learning_rate", options.initial_learning_rate);
  fields("first_decay_steps", options.first_decay_steps);
  fields("t_mul", options.t_mul);
  fields("m_mul", options.m_mul);
  fields("alpha", options.alpha);
  fields("name", options.name);
}

}  // namespace cornu::optimizers::schedules
