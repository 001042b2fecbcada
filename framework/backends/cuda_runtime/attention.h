// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention by cuDNN, which never stores the scores.
#pragma once

#include <memory>

#include "framework/backends/cuda_runtime/library.h"

namespace cornu::cuda {

// Returns null, and the reason in `why`, when cuDNN has no kernel as deterministic as the spec
// requires.
std::shared_ptr<CudnnKernel> make_attention(const CudnnTarget& target, const AttentionSpec& spec,
                                            std::string& why);

}  // namespace cornu::cuda
