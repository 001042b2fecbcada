// SPDX-License-Identifier: Apache-2.0
// A GPU on which kernels are compiled, by the CUDA compiler, and nothing is run: whether all that
// the backend writes is CUDA can be seen on any machine.
#pragma once

#include <cstddef>
#include <memory>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda::testing {

struct CompilingOptions {
  bool libraries = true;  // false: prepare() gives null
};

// Its load() notes kernels. Its memory is the host's, and what kernels would write there are zeros.
std::unique_ptr<Runtime> make_compiling_runtime(const CompilingOptions& options = {});

struct CompiledCounts {
  size_t noted = 0;     // different kernels
  size_t compiled = 0;  // of these
};
// Compiles what any such runtime of the process has noted, for the GPUs that Cornu knows; of
// kernels whose names differ in nothing but their hash, the first ones. Internal, with the
// compiler's messages, for what isn't CUDA.
CompiledCounts compile_noted();

}  // namespace cornu::cuda::testing
