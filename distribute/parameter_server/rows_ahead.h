// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "distribute/parameter_server/divide_step.h"

namespace cornu::distribute {

// For variables that a worker's part reads whole although it only takes rows of them, turns those
// rows into inputs of it (DividedStep::taken). `own_inputs`: number of the step's inputs.
void take_rows_ahead(DividedStep& divided, size_t own_inputs);

}  // namespace cornu::distribute
