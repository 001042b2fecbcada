// SPDX-License-Identifier: Apache-2.0
// Detects what has changed when fit resumes: callbacks, optimizer options, model and data. Each
// change with which training can continue is named in a warning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/callbacks/callback.h"
#include "framework/core/json.h"
#include "framework/core/variable.h"
#include "framework/saving/run_state.h"

namespace cornu {

// Where a state has what callbacks remember.
inline constexpr const char* kCallbacks = "callbacks";

// Variables of a run, by what they belong to.
using VariableGroups = std::vector<std::pair<std::string, std::vector<Variable>>>;

// The groups of variables that only the training step, or only the test step, writes.
inline constexpr const char* kOfStep = "step";
inline constexpr const char* kOfTestStep = "test step";

// Adds, as a group, variables that a step writes in addition to those of `groups`, such as those of
// an additional optimizer used by a custom train_step.
void add_others(VariableGroups& groups, const char* group, const std::vector<Variable>& written);

// The variables of which each replica has its own part.
std::vector<Variable> on_read(const VariableGroups& groups);

// Restores the groups and returns those that were restored. Throws FailedPrecondition, before
// anything is restored, if a group differs from the saved one; for those of steps, whose variables
// may depend on batch shapes, this is only a warning. A state that was saved before the first test
// step has none of its variables, which then stay.
VariableGroups restore_groups(const RunState& state, const VariableGroups& groups);

// Returns the newest state that a callback has. If others' states are damaged, logs a warning;
// throws DataLoss if all states are damaged.
std::optional<RunState> kept_state(const std::vector<CallbackHandle>& callbacks);

// Adds the state of each callback.
void save_callbacks(RunState& state, const std::vector<CallbackHandle>& callbacks);
// Replaces what callbacks remember, except tensors, by what the chief's of the same classes do:
// they may know what they alone have written. `chiefs`: its kCallbacks.
void take_callbacks(RunState& state, const Json& chiefs);

// Restores each callback from a saved state of its class. If there are several, prefers the one
// with the same state_name(), then the one that monitors the same metric, then the next in order.
// Callbacks without a saved state are left unchanged.
void restore_callbacks(const RunState& state, const std::vector<CallbackHandle>& callbacks);

// Warns of stateful callbacks that the saved run didn't have, and of saved states whose callbacks
// are missing now.
void warn_of_other_callbacks(const RunState& state, const std::vector<CallbackHandle>& callbacks);

// Warns of each fact (the model's config, losses and metrics, the data, class_weight) that has
// changed. States written before facts were saved cause no warnings.
void warn_of_other_facts(const Json& saved, const Json& now);

// Warns that the state, which was saved at `place` ("after epoch 5"), has more epochs than the
// program asks for.
void warn_of_fewer_epochs(int64_t epochs, const std::string& place);

// Returns the optimizer config with which the run continues. A numeric learning rate is a variable
// and comes from the state; everything else is as in this program. Warns of each value that
// differs.
Json resumed_config(const Json& saved, const Json& now);

}  // namespace cornu
