// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/register.h"

namespace cornu::losses {

void register_all(Registry<LossFactory>& registry) {
  register_circle(registry);
  register_crossentropy(registry);
  register_ctc(registry);
  register_hinge(registry);
  register_overlap(registry);
  register_regression(registry);
}

}  // namespace cornu::losses
