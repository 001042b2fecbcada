// SPDX-License-Identifier: Apache-2.0
// Dynamic loss scaling, for 16-bit gradients.
#pragma once

#include <cstdint>
#include <string>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct LossScaleOptimizerOptions {
  Optimizer inner_optimizer = {};       // required; its own loss_scale_factor is removed
  double initial_scale = 32768.0;       // > 0
  int64_t dynamic_growth_steps = 2000;  // steps without overflow before the scale is doubled
  std::string name = {};
};

// Divides the gradients of a scaled loss by the scale and passes them to another optimizer
// (Micikevicius et al., "Mixed precision training", ICLR 2018). If a gradient is not finite on any
// replica, the step is skipped and the scale is halved; either change of the scale restarts the
// step count.
//
// The learning rate and iterations are those of the inner optimizer; skipped steps aren't counted.
// Clipping, averages and everything else are options of the inner optimizer. fit scales losses
// itself; a custom loop must call scale_loss(loss) before computing gradients.
class LossScaleOptimizer final : public Optimizer {
 public:
  explicit LossScaleOptimizer(const LossScaleOptimizerOptions& options);
};

// Creates the optimizer from its config.
Optimizer loss_scale_optimizer_from_config(const Json& config);

}  // namespace cornu::optimizers
