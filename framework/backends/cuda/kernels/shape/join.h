// SPDX-License-Identifier: Apache-2.0
// Copies of arrays into larger ones: pad and concatenate.
#pragma once

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

bool lower_pad(const KernelSpec& spec, Lowering& lowering);
bool lower_concatenate(const KernelSpec& spec, Lowering& lowering);

}  // namespace cornu::cuda
