// SPDX-License-Identifier: Apache-2.0
// The one place that knows every backend of this build.
#include "framework/graph/backend.h"

namespace cornu {

void register_builtin_backends() {
  register_backend(DeviceType::Cpu, cpu_backend());
  register_backend_finder(DeviceType::Gpu, find_cuda_backend);
  register_backend_finder(DeviceType::Tpu, find_xla_backend);
}

}  // namespace cornu
