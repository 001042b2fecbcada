// SPDX-License-Identifier: Apache-2.0
// Internal: for layers that perform the dropout of a Dropout layer within an op.
#pragma once

#include "framework/model/layer.h"

namespace cornu::layers {

// Returns the key that a Dropout with a rate > 0 would use in its next call, which then uses
// another one.
Tensor next_dropout_key(const LayerHandle& dropout);

}  // namespace cornu::layers
