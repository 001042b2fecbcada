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

// Its load() compiles representatives for the GPUs that Cornu knows: of kernels whose names differ
// in nothing but their hash, the first ones. Internal, with the compiler's messages, for what isn't
// CUDA. Its memory is the host's, and what kernels would write there are zeros.
std::unique_ptr<Runtime> make_compiling_runtime(const CompilingOptions& options = {});

struct CompiledCounts {
  size_t seen = 0;      // different kernels that were asked for
  size_t compiled = 0;  // of these, for at least one GPU
};
CompiledCounts compiled_counts();

}  // namespace cornu::cuda::testing
