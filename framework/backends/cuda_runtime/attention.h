// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention by cuDNN, which never stores the scores.
#pragma once

#include <memory>

#include "framework/backends/cuda_runtime/library.h"

namespace cornu::cuda {

// Null, and why, where cuDNN has none that is as deterministic as the spec asks for.
std::shared_ptr<CudnnKernel> make_attention(const CudnnTarget& target, const AttentionSpec& spec,
                                            std::string& why);

}  // namespace cornu::cuda
