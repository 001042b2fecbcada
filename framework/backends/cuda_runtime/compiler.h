// SPDX-License-Identifier: Apache-2.0
// CUDA source becomes machine code, with NVRTC alone: needs neither a GPU nor a driver.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

// The machine code of a kernel for GPUs of this compute capability, on top of prelude.cu; or PTX,
// which ends in a zero byte, for GPUs that NVRTC doesn't know yet. It is kept on disk: in the
// folder $CORNU_CUDA_CACHE (nowhere when that is empty), else in $XDG_CACHE_HOME/cornu/cuda or
// ~/.cache/cornu/cuda. Internal, with the compiler's messages, for text that isn't CUDA.
std::vector<char> compile_to_cubin(const KernelCode& code, int major, int minor);

// The same for each, on several threads.
std::vector<std::vector<char>> compile_all(std::span<const KernelCode* const> codes, int major,
                                           int minor);

// How many times NVRTC has been called: what came from the disk doesn't count.
size_t compiled_count();

// "NVRTC 13.0"
std::string compiler_version();

}  // namespace cornu::cuda
