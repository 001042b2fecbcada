// SPDX-License-Identifier: Apache-2.0
// 16-bit floating-point kernels that compute in float32.
#pragma once

#include "framework/backends/cpu/kernel.h"

namespace cornu::cpu {

// Whether kernels compute with this dtype in float32, and round their results once.
bool computes_in_float32(DType dtype);

// A kernel for a spec with float16 or bfloat16 tensors: converts those to float32, runs the kernel
// from `make` for the converted spec, and rounds its results. Null if `make` returns null or the
// spec has no such tensors.
std::unique_ptr<Kernel> through_float32(const KernelSpec& spec, const KernelFactory& make);

}  // namespace cornu::cpu
