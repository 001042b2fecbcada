// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt.
#pragma once

#include <memory>

#include "framework/backends/cuda_runtime/library.h"

namespace cornu::cuda {

// "CUBLAS_STATUS_NOT_SUPPORTED: …"
std::string describe(cublasStatus_t status);

// Returns null, and the reason in `why`, when cuBLASLt has no deterministic kernel.
std::shared_ptr<LibraryKernelBase> make_matmul(cublasLtHandle_t handle, const MatmulSpec& spec,
                                               std::string& why);

}  // namespace cornu::cuda
