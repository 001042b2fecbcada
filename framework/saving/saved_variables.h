// SPDX-License-Identifier: Apache-2.0
// Variables in a run state: groups of them, in their order. Names tell people which is meant;
// layers of another run may have been numbered otherwise.
#pragma once

#include <string>
#include <vector>

#include "framework/core/variable.h"
#include "framework/saving/run_state.h"

namespace cornu {

// Adds a group: tensors "<group>/<index>/<path>", which share the variables' memory until those are
// written to, and their number in info["variables"].
void save_variables(RunState& state, const std::string& group,
                    const std::vector<Variable>& variables);

// How many were saved; 0 for a group that wasn't.
int64_t count_of_saved_variables(const RunState& state, const std::string& group);

// What the first difference is between the saved group and `variables`, as a clause; empty where
// numbers, shapes and dtypes are the same.
std::string difference_of_variables(const RunState& state, const std::string& group,
                                    const std::vector<Variable>& variables);

// Assigns the saved values of a group whose first variables, as many as both have, don't differ.
void restore_variables(const RunState& state, const std::string& group,
                       const std::vector<Variable>& variables);

}  // namespace cornu
