// SPDX-License-Identifier: Apache-2.0
// The state of a run that several workers train together: one file has what all of them need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/core/json.h"
#include "framework/saving/run_state.h"
#include "framework/train/optimizer.h"

namespace cornu {

// Where a callback has set an optimizer's learning rate on one worker alone, that of the chief is
// everybody's, with a warning. Called by all workers.
void agree_on_learning_rate(const Optimizer& optimizer);

// What is drawn without a seed from now on is the same on all workers: the chief's. Called by all.
void agree_on_seeds();

// The name of these variables in such parts.
inline constexpr const char* kOwnVariables = "on read";

// Adds what each worker has of its own (where it is in its data, its parts of metrics) to the state
// that all have. Called by all workers.
void add_worker_parts(RunState& state, const RunState& own);
// This worker's own part of a state, or that of the first one where there were more or fewer; none
// where it has no parts.
std::optional<RunState> own_worker_part(const RunState& state);
// How many workers have trained it.
int64_t workers_of(const RunState& state);
// Gives variables of which each replica has its own part those of this worker. Where there were
// more or fewer workers, what all of them had together is kept. A part's first ones are meant: it
// may have more.
void restore_own_variables(const RunState& state, const std::vector<Variable>& variables);

// The newest of all workers' states, on every worker. Called by all workers.
std::optional<RunState> newest_state(std::optional<RunState> own);

}  // namespace cornu
