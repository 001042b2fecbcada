// SPDX-License-Identifier: Apache-2.0
// The state of a run that several workers train together: a single file has the state of all
// workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/core/json.h"
#include "framework/saving/run_state.h"
#include "framework/train/optimizer.h"

namespace cornu {

// If a callback has set an optimizer's learning rate on one worker only, all workers take the
// chief's rate, with a warning. Must be called by all workers.
void agree_on_learning_rate(const Optimizer& optimizer);

// Makes unseeded random numbers from now on the same on all workers: those of the chief. Must be
// called by all workers.
void agree_on_seeds();

// The name of the replicas' own variables in workers' parts.
inline constexpr const char* kOwnVariables = "on read";

// Adds each worker's own part (its position in the data, its part of metrics) to the shared state,
// and takes what the chief's callbacks remember, which its part tells. Must be called by all
// workers.
void add_worker_parts(RunState& state, const RunState& own);
// Returns this worker's own part of a state, or the first worker's if the number of workers has
// changed; nullopt if the state has no parts.
std::optional<RunState> own_worker_part(const RunState& state);
// Number of workers that trained the run.
int64_t workers_of(const RunState& state);
// Restores variables of which each replica has its own part to this worker's part. If the number of
// workers has changed, their combined value is preserved. Only the part's leading variables are
// used: it may have more.
void restore_own_variables(const RunState& state, const std::vector<Variable>& variables);

// Returns the newest of all workers' states, on every worker. Must be called by all workers.
std::optional<RunState> newest_state(std::optional<RunState> own);

}  // namespace cornu
