// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/graph/graph.h"
#include "framework/graph/kernel_spec.h"

namespace cornu {

// A graph with a single op, for backends that compile eager ops like functions.
Graph single_op_graph(const KernelSpec& spec);

}  // namespace cornu
