// SPDX-License-Identifier: Apache-2.0
// Weights that are to be the same on all workers.
#pragma once

#include <vector>

#include "framework/core/variable.h"

namespace cornu {

// Where these have other values on a worker than on the first one of those that `were_alike` (whose
// calls have computed with them before), all of those take that one's, with a warning that names
// them. The others' are left to the first step that uses them. Called by all workers; where all are
// alike, digests are all that travels. `what`: "fit".
void agree_on_values(const char* what, const std::vector<Variable>& variables, bool were_alike);

}  // namespace cornu
