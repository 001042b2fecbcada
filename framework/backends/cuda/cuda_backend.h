// SPDX-License-Identifier: Apache-2.0
// The backend of GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/backends/cuda/gpu_device.h"
#include "framework/graph/backend.h"

namespace cornu::cuda {

// That of the GPUs that `runtime` knows; both are never destroyed.
Backend& cuda_backend(Runtime& runtime);

// The device called GPU:`index`, of the backend that was made.
GpuDevice& gpu_device(int index);

}  // namespace cornu::cuda
