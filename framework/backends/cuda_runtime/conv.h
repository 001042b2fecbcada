// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN.
#pragma once

#include <memory>

#include "framework/backends/cuda_runtime/library.h"

namespace cornu::cuda {

// Returns null, and the reason in `why`, when cuDNN has no kernel as deterministic and as precise
// as the spec requires.
std::shared_ptr<CudnnKernel> make_conv(const CudnnTarget& target, const ConvSpec& spec,
                                       std::string& why);

}  // namespace cornu::cuda
