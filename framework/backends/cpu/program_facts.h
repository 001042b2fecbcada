// SPDX-License-Identifier: Apache-2.0
// What a program is made of, for those who measure it.
#pragma once

#include <string>

#include "framework/backends/cpu/program.h"
#include "framework/graph/program_recorder.h"

namespace cornu::cpu {

// One entry an instruction, in their order.
ProgramFacts facts_of(const Program& program, const std::string& name);

}  // namespace cornu::cpu
