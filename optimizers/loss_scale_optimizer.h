// SPDX-License-Identifier: Apache-2.0
// Losses scaled as far as 16-bit gradients can take it.
#pragma once

#include <cstdint>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct LossScaleOptimizerOptions {
  Optimizer inner_optimizer = {};       // must be given; its own loss_scale_factor is taken away
  double initial_scale = 32768.0;       // > 0
  int64_t dynamic_growth_steps = 2000;  // steps without overflow after which the scale is doubled
  std::string name = {};
};

// Gives another optimizer the gradients of a scaled loss, divided by the scale (Micikevicius et
// al., "Mixed precision training", ICLR 2018). A step with a gradient that isn't finite on any
// replica is skipped, and halves the scale; both begin the count of steps anew.
//
// The learning rate and iterations are the inner optimizer's; skipped steps aren't among these.
// Clipping, averages and all else are options of the inner one. fit scales losses itself; a custom
// loop calls scale_loss(loss) before it asks for gradients.
class LossScaleOptimizer : public Optimizer {
 public:
  explicit LossScaleOptimizer(const LossScaleOptimizerOptions& options);
};

// From its config.
Optimizer loss_scale_optimizer_from_config(const Json& config);

}  // namespace cornu::optimizers
