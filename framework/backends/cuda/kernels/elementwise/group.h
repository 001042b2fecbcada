// SPDX-License-Identifier: Apache-2.0
// The same computation of many arrays, by one kernel ("fused_group").
#pragma once

#include <cstddef>
#include <string>

#include "framework/backends/cuda/kernels/elementwise/body.h"

namespace cornu::cuda {

// Whether it can be a member: every operand has all elements, or one, and nothing is summed.
bool is_groupable(const ElementwiseBody& body);

// Equal for bodies that may be members of one group.
std::string group_key(const ElementwiseBody& body);

// As many members as the parameters of a kernel have room for.
size_t most_members(size_t inputs, size_t outputs);

}  // namespace cornu::cuda
