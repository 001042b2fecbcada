// SPDX-License-Identifier: Apache-2.0
// Compiles CUDA source to machine code, with NVRTC only: needs neither a GPU nor a driver.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

// Returns the machine code of a kernel for GPUs of this compute capability, on top of prelude.cu;
// or zero-terminated PTX for GPUs that NVRTC doesn't know yet. The result is cached on disk: in the
// folder $CORNU_CUDA_CACHE (not at all when that is empty), else in $XDG_CACHE_HOME/cornu/cuda or
// ~/.cache/cornu/cuda; at most 1 GiB (KernelCache). Throws Internal, with the compiler's messages,
// for invalid CUDA.
std::vector<char> compile_to_cubin(const KernelCode& code, int major, int minor);

// Compiles several kernels in parallel.
std::vector<std::vector<char>> compile_all(std::span<const KernelCode* const> codes, int major,
                                           int minor);

// Number of NVRTC calls: cache hits don't count.
size_t compiled_count();

// "NVRTC 13.0"
std::string compiler_version();

}  // namespace cornu::cuda
