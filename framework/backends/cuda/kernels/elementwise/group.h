// SPDX-License-Identifier: Apache-2.0
// The same computation on many arrays, by one kernel ("fused_group").
#pragma once

#include <cstddef>
#include <string>

#include "framework/backends/cuda/kernels/elementwise/body.h"

namespace cornu::cuda {

// Whether the body can be a member: every operand has all elements or a single one, and there are
// no sums.
bool is_groupable(const ElementwiseBody& body);

// Equal for bodies that may be members of the same group.
std::string group_key(const ElementwiseBody& body);

// The maximum number of members, limited by the size of a kernel's parameters.
size_t most_members(size_t inputs, size_t outputs);

}  // namespace cornu::cuda
