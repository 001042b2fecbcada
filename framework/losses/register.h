// SPDX-License-Identifier: Apache-2.0
// Makes the losses of this folder known by name.
#pragma once

#include "framework/losses/loss.h"

namespace cornu {
// Defined by framework/registration.
void register_builtins(Registry<LossFactory>& registry);
}  // namespace cornu

namespace cornu::losses {

// All of this folder, and one for each file.
void register_all(Registry<LossFactory>& registry);
void register_circle(Registry<LossFactory>& registry);
void register_crossentropy(Registry<LossFactory>& registry);
void register_ctc(Registry<LossFactory>& registry);
void register_hinge(Registry<LossFactory>& registry);
void register_overlap(Registry<LossFactory>& registry);
void register_regression(Registry<LossFactory>& registry);

}  // namespace cornu::losses
