// SPDX-License-Identifier: Apache-2.0
// The registration function of each family's file, and what op definitions are made with.
#pragma once

#include "cornu/graph/op.h"

namespace cornu::ops {

void register_math(OpRegistry& registry);
void register_reduce(OpRegistry& registry);
void register_matmul(OpRegistry& registry);
void register_conv(OpRegistry& registry);
void register_pool(OpRegistry& registry);
void register_nn(OpRegistry& registry);
void register_shape(OpRegistry& registry);
void register_index(OpRegistry& registry);
void register_random(OpRegistry& registry);
void register_control(OpRegistry& registry);
void register_collective(OpRegistry& registry);

using Types = std::vector<TensorType>;
using TypeSpan = std::span<const TensorType>;
using Gradients = std::vector<Tensor>;

// Throws InvalidArgument unless an op got as many inputs as it takes (graphs may come from files).
inline void require_inputs(TypeSpan inputs, size_t count, std::string_view who) {
  check<InvalidArgument>(inputs.size() == count, "{}: expected {} inputs, got {}.", who, count,
                         inputs.size());
}

}  // namespace cornu::ops
