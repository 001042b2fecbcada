// SPDX-License-Identifier: Apache-2.0
#include "optimizers/adamw.h"

#include "optimizers/adam_impl.h"

namespace cornu::optimizers {
namespace {

AdamOptions adam_options(const AdamWOptions& options) {
  check<InvalidArgument>(options.weight_decay.has_value(),
                         "AdamW: expected a weight_decay, got None. Use Adam to train without.");
  return {.learning_rate = options.learning_rate,
          .beta_1 = options.beta_1,
          .beta_2 = options.beta_2,
          .epsilon = options.epsilon,
          .amsgrad = options.amsgrad,
          .weight_decay = options.weight_decay,
          .clipnorm = options.clipnorm,
          .clipvalue = options.clipvalue,
          .global_clipnorm = options.global_clipnorm,
          .use_ema = options.use_ema,
          .ema_momentum = options.ema_momentum,
          .ema_overwrite_frequency = options.ema_overwrite_frequency,
          .loss_scale_factor = options.loss_scale_factor,
          .gradient_accumulation_steps = options.gradient_accumulation_steps,
          .name = options.name};
}

}  // namespace

AdamW::AdamW(const AdamWOptions& options)
    : Optimizer(std::make_shared<AdamImpl>("AdamW", adam_options(options))) {}

}  // namespace cornu::optimizers
