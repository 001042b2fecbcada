// SPDX-License-Identifier: Apache-2.0
// The GPU backend.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/backends/cuda/gpu_device.h"
#include "framework/graph/backend.h"

namespace cornu::cuda {

// The backend of the GPUs that `runtime` provides; neither is ever destroyed.
Backend& cuda_backend(Runtime& runtime);

// The device called GPU:`index`, of the backend created above.
GpuDevice& gpu_device(int index);

}  // namespace cornu::cuda
