// SPDX-License-Identifier: Apache-2.0
// Internal: for layers that drop within an op what a Dropout of theirs would.
#pragma once

#include "framework/model/layer.h"

namespace cornu::layers {

// The key by which a Dropout of a rate > 0 would draw in its next call, which draws another one.
Tensor next_dropout_key(const LayerHandle& dropout);

}  // namespace cornu::layers
