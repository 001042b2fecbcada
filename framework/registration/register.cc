// SPDX-License-Identifier: Apache-2.0
// The one place that knows every folder with classes to register.
#include "layers/register.h"
#include "framework/model/builtins.h"
#include "framework/train/model_config.h"
#include "framework/train/optimizer.h"
#include "optimizers/register.h"

namespace cornu {

void register_builtins() {
  layers::register_all(internal::raw_layer_registry());
  register_models(internal::raw_layer_registry());
  optimizers::register_all(internal::raw_optimizer_registry(), internal::raw_schedule_registry());
}

}  // namespace cornu
