// SPDX-License-Identifier: Apache-2.0
// Collectives of replicas: between GPUs if their group connects them, otherwise through host
// memory.
#pragma once

#include <memory>

#include "framework/backends/cuda/program.h"

namespace cornu::cuda {

// Returns null for ops that aren't collectives.
std::unique_ptr<Instruction> make_collective(const KernelSpec& spec);

}  // namespace cornu::cuda
