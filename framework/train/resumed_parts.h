// SPDX-License-Identifier: Apache-2.0
// What a resumed fit finds changed: callbacks, the optimizer's options, model and data. Where it
// goes on all the same, a warning names each change.
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

// Variables of a run, by what they are of.
using VariableGroups = std::vector<std::pair<std::string, std::vector<Variable>>>;

// Adds, as the group "step", what a step writes beside those: variables of an optimizer that a
// train_step has of its own, say.
void add_others(VariableGroups& groups, const std::vector<Variable>& written);

// Of which each replica has its own part.
std::vector<Variable> on_read(const VariableGroups& groups);

// Gives those that it has restored. FailedPrecondition, before anything is restored, where a group
// was another one; of the step's others, which may come with certain shapes of batches alone, that
// is a warning.
VariableGroups restore_groups(const RunState& state, const VariableGroups& groups);

// The newest state that a callback has. Where others' are all damaged, that is a warning; DataLoss
// where there is no other.
std::optional<RunState> kept_state(const std::vector<CallbackHandle>& callbacks);

// Adds what each callback must know.
void save_callbacks(RunState& state, const std::vector<CallbackHandle>& callbacks);

// Gives each callback the state of the saved one of its class; of several of a class, the one of
// the same state_name(), else the one that watches the same metric, else the next in order. Those
// without one stay as they are.
void restore_callbacks(const RunState& state, const std::vector<CallbackHandle>& callbacks);

// Warns of callbacks that have something to know but weren't there, and of those that had something
// to know but aren't here.
void warn_of_other_callbacks(const RunState& state, const std::vector<CallbackHandle>& callbacks);

// Warns of each fact (the model's config, what it minimizes and measures, the data, class_weight)
// that is another one. A state that was written before states had them says nothing.
void warn_of_other_facts(const Json& saved, const Json& now);

// Warns that the state, which stands at `place` ("after epoch 5"), is of more epochs than the
// program asks for.
void warn_of_fewer_epochs(int64_t epochs, const std::string& place);

// The optimizer's config that the run goes on with. A learning rate that is a number is a variable,
// which the state holds; all else is as this program says. Warns of each value that differs.
Json resumed_config(const Json& saved, const Json& now);

}  // namespace cornu
