// SPDX-License-Identifier: Apache-2.0
// Finds the library that runs things on GPUs.
#pragma once

#include <string>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

// Null where there is no GPU that could be used: `why` then says what was looked for and what to
// do.
struct FoundRuntime {
  Runtime* runtime = nullptr;
  std::string why;
};

// That of libcornu_cuda.so, which is loaded when this is first called: the file that
// $CORNU_CUDA_LIBRARY names, else the one beside the program or the library that this code is part
// of, else where this build or its installation has put it.
const FoundRuntime& find_runtime();

}  // namespace cornu::cuda
