// SPDX-License-Identifier: Apache-2.0
// Finds the library that runs code on GPUs.
#pragma once

#include <string>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

// A null `runtime` means that there is no usable GPU: `why` then says what was looked for and what
// to do.
struct FoundRuntime {
  Runtime* runtime = nullptr;
  std::string why;
};

// Returns the runtime of libcornu_cuda.so, loading the library on the first call: the file named by
// $CORNU_CUDA_LIBRARY, else the one next to the program or library that contains this code, else
// the location where this build or its installation has put it.
const FoundRuntime& find_runtime();

}  // namespace cornu::cuda
