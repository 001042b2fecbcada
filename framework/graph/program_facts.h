// SPDX-License-Identifier: Apache-2.0
// What a program consists of, for measurements.
#pragma once

#include <string>

#include "framework/graph/graph.h"
#include "framework/graph/program_recorder.h"

namespace cornu {

// The multiplications and additions of a matrix product or convolution; 0 for other nodes.
double flops_of(const Graph& graph, const Node& node);

// Whether a node of a compiled graph is an instruction: constants and views aren't.
bool is_instruction(const Node& node);

// Returns one entry per instruction, in order, followed by one for the bytes that are copied at the
// end, if any. `graph` is the graph that was compiled.
ProgramFacts facts_of(const Graph& graph, const std::string& name, size_t copied_bytes);

}  // namespace cornu
