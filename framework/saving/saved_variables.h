// SPDX-License-Identifier: Apache-2.0
// Variables in a run state: ordered groups. Names are only for readability, since the layers of
// another run may be numbered differently.
#pragma once

#include <string>
#include <vector>

#include "framework/core/variable.h"
#include "framework/saving/run_state.h"

namespace cornu {

// Adds a group: tensors "<group>/<index>/<path>", which share memory with the variables until those
// are written to, and their count in info["variables"].
void save_variables(RunState& state, const std::string& group,
                    const std::vector<Variable>& variables);

// Number of saved variables; 0 for a group that wasn't saved.
int64_t count_of_saved_variables(const RunState& state, const std::string& group);

// Describes, as a clause, the first difference between the saved group and `variables`; empty if
// counts, shapes and dtypes match.
std::string difference_of_variables(const RunState& state, const std::string& group,
                                    const std::vector<Variable>& variables);

// Assigns the saved values to the variables; if the counts differ, to as many as both have. Shapes
// and dtypes must match.
void restore_variables(const RunState& state, const std::string& group,
                       const std::vector<Variable>& variables);

}  // namespace cornu
