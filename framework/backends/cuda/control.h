// SPDX-License-Identifier: Apache-2.0
// Instructions that contain programs: cond, scan, while.
#pragma once

#include <memory>

#include "framework/backends/cuda/program.h"

namespace cornu::cuda {

bool is_control(const OpDef& op);

// Returns null for other ops.
std::unique_ptr<Instruction> make_control(const KernelSpec& spec, GpuDevice& device);

}  // namespace cornu::cuda
