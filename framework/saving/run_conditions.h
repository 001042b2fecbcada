// SPDX-License-Identifier: Apache-2.0
// Conditions besides its objects that a run's numerical results depend on.
#pragma once

#include "framework/saving/run_state.h"

namespace cornu {

// Adds the state of this thread's seed sequence, the number of compute threads, this version of
// Cornu, and the CPU's instruction sets.
void save_conditions(RunState& state);
// Restores the saved seed sequence on this thread.
void restore_seeds(const RunState& state);
// Warns if the number of compute threads, the version of Cornu, or the CPU's instruction sets have
// changed: the last bits of results may then differ.
void warn_of_other_conditions(const RunState& state);
// Warns if the saved run had a different number of replicas.
void warn_of_other_replicas(const RunState& state, int64_t replicas);
// Warns if this program has set a different seed: the run continues with the saved sequence.
void warn_of_other_seed(const RunState& state);

}  // namespace cornu
