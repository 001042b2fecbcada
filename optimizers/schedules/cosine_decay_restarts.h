// SPDX-License-Identifier: Apache-2.0
// Cosine decay with warm restarts.
#pragma once

#include <cstdint>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers::schedules {

struct CosineDecayRestartsOptions {
  double initial_learning_rate = 0.0;
  int64_t first_decay_steps = 0;  // > 0
  double t_mul = 2.0;             // length of each period relative to the previous one
  double m_mul = 1.0;             // initial rate of each period relative to it
  double alpha = 0.0;             // lowest rate as a fraction of the initial one
  std::string name = "SGDRDecay";
};

// Loshchilov & Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.
class CosineDecayRestarts final : public LearningRate {
 public:
  // Throws InvalidArgument if an option is out of range.
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
