// SPDX-License-Identifier: Apache-2.0
// The one place that knows every folder with classes, functions or ops to register.
#include "framework/losses/register.h"
#include "framework/autodiff/composite_vjp.h"
#include "framework/autodiff/control_vjps.h"
#include "framework/autodiff/recurrent_vjps.h"
#include "framework/metrics/register.h"
#include "framework/model/register.h"
#include "framework/ops/register.h"
#include "framework/train/model_config.h"
#include "framework/train/optimizer.h"
#include "layers/register.h"
#include "optimizers/loss_scale_optimizer.h"
#include "optimizers/register.h"

namespace cornu {

void register_builtins(OpRegistry& registry) {
  ops::register_all(registry);
  register_composite_vjp();
  register_control_vjps(registry);
  register_recurrent_vjps(registry);
}

void register_builtins(Registry<InitializerFactory>& registry) {
  initializers::register_all(registry);
}

void register_builtins(Registry<RegularizerFactory>& registry) {
  regularizers::register_all(registry);
}

void register_builtins(Registry<ConstraintFactory>& registry) {
  constraints::register_all(registry);
}

void register_builtins(Registry<QuantizerFactory>& registry) { quantizers::register_all(registry); }

void register_builtins(Registry<ActivationFunction>& registry) {
  activations::register_all(registry);
}

void register_builtins(Registry<LayerFactory>& registry) {
  layers::register_all(registry);
  register_models(registry);
}

void register_builtins(Registry<LossFactory>& registry) { losses::register_all(registry); }

void register_builtins(Registry<MetricFactory>& registry) { metrics::register_all(registry); }

void register_builtins(Registry<OptimizerFactory>& registry) { optimizers::register_all(registry); }

void register_builtins(Registry<ScheduleFactory>& registry) {
  optimizers::schedules::register_all(registry);
}

Optimizer with_scaled_losses(const Optimizer& optimizer) {
  if (optimizer.impl().class_name() == "LossScaleOptimizer") return optimizer;
  return optimizers::LossScaleOptimizer(
      {.inner_optimizer = optimizer, .name = "loss_scale_optimizer"});
}

}  // namespace cornu
