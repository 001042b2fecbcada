// SPDX-License-Identifier: Apache-2.0
// The sizes and operands of an attention op, and the distance between results.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {

struct AttentionCase {
  int64_t batch = 1, rows = 1, columns = 1, heads = 1, keys = 1, size = 1, width = 1;
  double scale = 0.5;
  bool causal = false;
  Shape bias_shape = {}, mask_shape = {};  // rank 0: none
  DType dtype = DType::Float32;
  bool bias_gradient = true;  // if there is a bias

  Shape output_shape() const { return {batch, rows, heads, width}; }
  TensorType statistics() const {
    return {dtype == DType::Float64 ? dtype : DType::Float32, {batch, heads, rows, 2}};
  }
  double tolerance() const {
    return dtype == DType::Float64    ? 1e-12
           : dtype == DType::BFloat16 ? 2e-2
           : dtype == DType::Float16  ? 3e-3
                                      : 2e-5;
  }
  std::vector<Tensor> operands() const {
    return {cpu::testing::random_tensor({batch, rows, heads, size}, dtype, 1),
            cpu::testing::random_tensor({batch, columns, keys, size}, dtype, 2),
            cpu::testing::random_tensor({batch, columns, keys, width}, dtype, 3)};
  }
  void add_optional(std::vector<Tensor>& inputs) const {
    if (bias_shape.rank() == 4) inputs.push_back(cpu::testing::random_tensor(bias_shape, dtype, 4));
    if (mask_shape.rank() == 4)
      inputs.push_back(cpu::testing::random_tensor(mask_shape, DType::Bool, 5));
  }
  Attributes attributes() const {
    return {{"scale", scale},
            {"causal", causal},
            {"bias", bias_shape.rank() == 4},
            {"mask", mask_shape.rank() == 4}};
  }
};

// The greatest difference between two arrays' elements; NaN if any difference is NaN.
inline double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> left = cpu::testing::values_of(a);
  const std::vector<double> right = cpu::testing::values_of(b);
  double most = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const double apart = std::abs(left[i] - right[i]);
    if (std::isnan(apart)) return apart;
    most = std::max(most, apart);
  }
  return most;
}

}  // namespace cornu::cuda::testing
