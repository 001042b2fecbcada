// SPDX-License-Identifier: Apache-2.0
// Keeps weights that must be identical on all workers in agreement.
#pragma once

#include <vector>

#include "framework/core/variable.h"

namespace cornu {

// Compares `variables` between workers. Where a worker's values differ, all workers with
// `were_alike` take those of the first such worker, with a warning that names the variables;
// `were_alike` says that this process has already computed with the variables in an earlier call.
// Other workers' values are settled by the first step that uses them. Must be called by all
// workers; if all values are identical, only digests are exchanged. `what` names the call, e.g.
// "fit".
void agree_on_values(const char* what, const std::vector<Variable>& variables, bool were_alike);

}  // namespace cornu
