// SPDX-License-Identifier: Apache-2.0
// Tensors on simulated GPUs.
#pragma once

#include <vector>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/core/tensor.h"
#include "framework/graph/backend.h"
#include "tests/support/cuda/simulator.h"

namespace cornu::cuda::testing {

inline const Device kFirst{DeviceType::Gpu, 0};
inline const Device kSecond{DeviceType::Gpu, 1};

inline void use_simulated_gpus() {
  register_backend(DeviceType::Gpu, cuda::cuda_backend(cuda::simulated::simulated_runtime()));
}

inline Tensor on(const Device& device, const std::vector<float>& values) {
  use_simulated_gpus();
  return Tensor::from(values).to(device);
}

inline std::vector<float> values(const Tensor& tensor) { return tensor.to_vector<float>(); }

inline std::vector<float> numbers(int64_t count) {
  std::vector<float> result;
  for (int64_t i = 0; i < count; ++i) result.push_back(static_cast<float>(i % 1000));
  return result;
}

}  // namespace cornu::cuda::testing
