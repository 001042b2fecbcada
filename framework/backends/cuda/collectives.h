// SPDX-License-Identifier: Apache-2.0
// Collectives of replicas: between GPUs where their group connects them, else through the host's
// memory.
#pragma once

#include <memory>

#include "framework/backends/cuda/program.h"

namespace cornu::cuda {

// Null for ops that aren't collectives.
std::unique_ptr<Instruction> make_collective(const KernelSpec& spec);

}  // namespace cornu::cuda
