// SPDX-License-Identifier: Apache-2.0
// The states of a recurrence. Internal to framework/ops and framework/autodiff.
#pragma once

#include "framework/core/tensor.h"

namespace cornu::ops::internal {

// The states before each step, given those after it (time, batch, units) and the `first` (batch,
// units), which in a recurrence in reverse comes before the last step.
Tensor states_before(const Tensor& states, const Tensor& first, bool reverse);

}  // namespace cornu::ops::internal
