// SPDX-License-Identifier: Apache-2.0
// What implementations of MPI tell a process through its environment.
#pragma once

#include <optional>

#include "distribute/cluster/environment.h"
#include "distribute/cluster/ranked_tasks.h"

namespace cornu::distribute {

// None where no implementation's rank and size are both set. InvalidArgument where they can't be
// read.
std::optional<RankedProcess> read_mpi_process(const ReadVariable& read);

}  // namespace cornu::distribute
