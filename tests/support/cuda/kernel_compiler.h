// SPDX-License-Identifier: Apache-2.0
// Compiles kernels into shared objects with the host's compiler and caches them across processes in
// a folder: $CORNU_SIMULATOR_CACHE, or else cornu-simulator-UID in the folder for temporary files.
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

// Compiles several kernels in parallel. Throws Internal, with the compiler's messages, when the
// text doesn't compile. Kernels stay loaded for the lifetime of the process.
// `checked`: they report each access to the runner.
std::vector<CompiledKernel> compile_kernels(std::span<const KernelCode* const> codes, bool checked);

}  // namespace cornu::cuda::simulated
