// SPDX-License-Identifier: Apache-2.0
// The state of a run that several workers train together: one file has what all of them need.
#pragma once

#include <optional>
#include <string>

#include "framework/core/json.h"
#include "framework/saving/run_state.h"

namespace cornu {

// FailedPrecondition, on every worker, where what they say of their programs differs: `facts` by
// name. `what` begins the message. Called by all workers.
void require_same_on_workers(const std::string& what, const Json& facts);

// What is drawn without a seed from now on is the same on all workers: the chief's. Called by all.
void agree_on_seeds();

// Adds what each worker has of its own (where it is in its data, its parts of metrics) to the state
// that all have. Called by all workers.
void add_worker_parts(RunState& state, const RunState& own);
// This worker's own part of a state; none where it has no parts. FailedPrecondition when there were
// more or fewer workers.
std::optional<RunState> own_worker_part(const RunState& state);

// The chief's state, on every worker. Called by all workers.
std::optional<RunState> state_of_chief(std::optional<RunState> own);

}  // namespace cornu
