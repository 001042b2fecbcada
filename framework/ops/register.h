// SPDX-License-Identifier: Apache-2.0
// Registration of all op definitions.
#pragma once

#include "cornu/graph/op.h"

namespace cornu::ops {

// Registers every op of this folder in the global registry, once; calling an op does it too. Needed
// before graphs are read from text. Thread-safe.
void ensure_registered();

// The same into any registry that doesn't have them.
void register_all(OpRegistry& registry);

// One for each family.
void register_elementwise(OpRegistry& registry);
void register_matmul(OpRegistry& registry);
void register_conv(OpRegistry& registry);
void register_pool(OpRegistry& registry);
void register_reduce(OpRegistry& registry);
void register_shape(OpRegistry& registry);
void register_index(OpRegistry& registry);
void register_nn(OpRegistry& registry);
void register_random(OpRegistry& registry);
void register_control(OpRegistry& registry);
void register_collective(OpRegistry& registry);

}  // namespace cornu::ops
