// SPDX-License-Identifier: Apache-2.0
// A piecewise constant rate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "framework/train/optimizer.h"

namespace cornu::optimizers::schedules {

struct PiecewiseConstantDecayOptions {
  std::vector<int64_t> boundaries = {};  // the last step of each interval except the last
  std::vector<double> values = {};       // one more than boundaries
  std::string name = "PiecewiseConstant";
};

// values[i] for the first i with step <= boundaries[i]; the last value beyond all boundaries.
class PiecewiseConstantDecay final : public LearningRate {
 public:
  // Throws InvalidArgument if an option is out of range.
  explicit PiecewiseConstantDecay(const PiecewiseConstantDecayOptions& options);
};

template <class Fields>
void visit_fields(Fields& fields, PiecewiseConstantDecayOptions& options) {
  fields("boundaries", options.boundaries);
  fields("values", options.values);
  fields("name", options.name);
}

}  // namespace cornu::optimizers::schedules
