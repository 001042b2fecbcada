// SPDX-License-Identifier: Apache-2.0
// Makes the losses of this folder known by name.
#pragma once

#include "framework/losses/loss.h"

namespace cornu::losses {

void register_crossentropy(Registry<LossFactory>& registry);
void register_hinge(Registry<LossFactory>& registry);
void register_overlap(Registry<LossFactory>& registry);
void register_regression(Registry<LossFactory>& registry);

inline void register_all(Registry<LossFactory>& registry) {
  register_crossentropy(registry);
  register_hinge(registry);
  register_overlap(registry);
  register_regression(registry);
}

}  // namespace cornu::losses
