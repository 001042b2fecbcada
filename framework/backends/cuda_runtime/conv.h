// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN.
#pragma once

#include <memory>

#include "framework/backends/cuda_runtime/library.h"

namespace cornu::cuda {

// Null, and why, where cuDNN has none that is as deterministic and as precise as the spec asks for.
std::shared_ptr<CudnnKernel> make_conv(const CudnnTarget& target, const ConvSpec& spec,
                                       std::string& why);

}  // namespace cornu::cuda
