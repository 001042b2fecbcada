// SPDX-License-Identifier: Apache-2.0
// Kernels as shared objects, made by the compiler of the host and kept in a folder from one process
// to the next: $CORNU_SIMULATOR_CACHE, else cornu-simulator-UID beside other temporary files.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/backends/cuda/runtime.h"
#include "tests/support/cuda/kernel_text.h"

namespace cornu::cuda::simulated {

struct CompiledKernel {
  std::string name;
  KernelExports exports;
  bool has_barriers = false;
};

// Several at once are compiled side by side. Internal, with the compiler's messages, for text that
// it refuses. Kernels stay loaded as long as the process lives.
std::vector<CompiledKernel> compile_kernels(std::span<const KernelCode* const> codes);

}  // namespace cornu::cuda::simulated
