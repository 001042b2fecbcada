// SPDX-License-Identifier: Apache-2.0
// Tracks which values of a step are parts of a loss returned by loss objects. Internal to losses
// and layers.
#pragma once

#include "framework/core/tensor.h"

namespace cornu {

// Records a loss object's value on this replica: its part of the whole batch's loss. A no-op with
// one replica.
void note_loss_part(const Tensor& value);

// The loss that a layer adds, as one value for the replica's examples: a loss object's part is
// unscaled (distribute::unscale_loss_for_distribution), so that it is weighted only once by the
// replica's share of all examples, like any other value of a layer.
Tensor as_added_loss(const Tensor& loss);

}  // namespace cornu
