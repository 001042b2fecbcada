// SPDX-License-Identifier: Apache-2.0
// Reads the environment variables set by MPI implementations.
#pragma once

#include <optional>

#include "distribute/cluster/environment.h"
#include "distribute/cluster/ranked_tasks.h"

namespace cornu::distribute {

// Returns nullopt unless one implementation's rank and size are both set. Throws InvalidArgument
// when they can't be parsed.
std::optional<RankedProcess> read_mpi_process(const ReadVariable& read);

}  // namespace cornu::distribute
