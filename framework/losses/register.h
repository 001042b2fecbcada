// SPDX-License-Identifier: Apache-2.0
// Registers the losses in this directory by name.
#pragma once

#include "framework/losses/loss.h"

namespace cornu {
// Defined by framework/registration.
void register_builtins(Registry<LossFactory>& registry);
}  // namespace cornu

namespace cornu::losses {

// Registers all losses in this directory; the others register those of one file.
void register_all(Registry<LossFactory>& registry);
void register_circle(Registry<LossFactory>& registry);
void register_crossentropy(Registry<LossFactory>& registry);
void register_ctc(Registry<LossFactory>& registry);
void register_hinge(Registry<LossFactory>& registry);
void register_overlap(Registry<LossFactory>& registry);
void register_regression(Registry<LossFactory>& registry);

}  // namespace cornu::losses
