// SPDX-License-Identifier: Apache-2.0
// What a program is made of, for those who measure it.
#pragma once

#include <string>

#include "framework/graph/graph.h"
#include "framework/graph/program_recorder.h"

namespace cornu {

// Whether a node of a compiled graph is an instruction: constants and views are none.
bool is_instruction(const Node& node);

// One entry an instruction, in their order, then one for the bytes that are copied at the end, if
// there are any. `graph` is that which was compiled.
ProgramFacts facts_of(const Graph& graph, const std::string& name, size_t copied_bytes);

}  // namespace cornu
