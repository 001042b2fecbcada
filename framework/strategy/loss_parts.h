// SPDX-License-Identifier: Apache-2.0
// Which values of a step are parts that loss objects gave. Internal: losses and layers.
#pragma once

#include "framework/core/tensor.h"

namespace cornu {

// A loss object's value on this replica: its part of the whole batch's loss. Does nothing with one
// replica.
void note_loss_part(const Tensor& value);

// The loss that a layer adds, as one value for the replica's examples: a loss object's part is
// unscaled (distribute::unscale_loss_for_distribution), so that it counts once by the replica's
// share of all examples, as any other value of a layer does.
Tensor as_added_loss(const Tensor& loss);

}  // namespace cornu
