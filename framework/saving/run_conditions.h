// SPDX-License-Identifier: Apache-2.0
// What the numbers of a run depend on besides its objects.
#pragma once

#include "framework/saving/run_state.h"

namespace cornu {

// Adds where this thread's sequence of seeds stands, the number of compute threads, this version of
// Cornu and the CPU's instruction sets.
void save_conditions(RunState& state);
// Takes up the saved sequence of seeds, on this thread.
void restore_seeds(const RunState& state);
// A warning when there are more or fewer compute threads now, another version of Cornu, or a CPU of
// other instructions: results have other last bits.
void warn_of_other_conditions(const RunState& state);
// A warning when the saved run had another number of replicas.
void warn_of_other_replicas(const RunState& state, int64_t replicas);
// A warning when this program has set another seed: the run goes on with the saved sequence.
void warn_of_other_seed(const RunState& state);

}  // namespace cornu
