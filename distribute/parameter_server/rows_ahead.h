// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "distribute/parameter_server/divide_step.h"

namespace cornu::distribute {

// Of variables that a worker's part reads whole, though it only takes rows of them, makes those
// rows inputs of it (DividedStep::taken). `own_inputs`: how many inputs the step has.
void take_rows_ahead(DividedStep& divided, size_t own_inputs);

}  // namespace cornu::distribute
