// SPDX-License-Identifier: Apache-2.0
// A GPU for which kernels are compiled, by the CUDA compiler, but never run: checks on any machine
// that everything the backend writes is valid CUDA.
#pragma once

#include <cstddef>
#include <memory>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda::testing {

struct CompilingOptions {
  bool libraries = true;  // false: prepare() returns null
};

// Its load() notes kernels. Its memory is the host's, and what kernels would write there is zeros.
std::unique_ptr<Runtime> make_compiling_runtime(const CompilingOptions& options = {});

struct CompiledCounts {
  size_t noted = 0;     // distinct kernels
  size_t compiled = 0;  // of these
};
// Compiles the kernels that all such runtimes of the process have noted, for the GPUs that Cornu
// knows; of kernels whose names differ only in their hash, only the first ones. Throws Internal,
// with the compiler's messages, when a kernel isn't valid CUDA.
CompiledCounts compile_noted();

}  // namespace cornu::cuda::testing
