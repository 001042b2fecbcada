// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/conv/axes.h"

#include <algorithm>
#include <limits>

namespace cornu::cuda {

Triple three_axes(std::span<const int64_t> values, int64_t missing) {
  Triple result = {missing, missing, missing};
  std::copy_backward(values.begin(), values.end(), result.end());
  return result;
}

Triple spatial_axes(const std::vector<int64_t>& dims) {
  return three_axes(std::span(dims).subspan(1, dims.size() - 2), 1);
}

void add_axes(KernelSizes& sizes, const std::string& name, const Triple& values) {
  for (size_t axis = 0; axis < 3; ++axis) sizes.add(name + std::to_string(axis), values[axis]);
}

std::string signed_index(int64_t largest) {
  return largest < std::numeric_limits<int32_t>::max() / 2 ? "i32" : "i64";
}

}  // namespace cornu::cuda
