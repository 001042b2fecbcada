// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/shape/text.h"

#include <algorithm>
#include <limits>

namespace cornu::cuda {

std::string KernelSizes::definitions() const {
  std::string constants;
  std::string parameters;
  for (const auto& [name, value] : sizes_) {
    if (specialize_) {
      constants += define(name, fmt::format("({}ll)", value));
    } else {
      parameters += ", i64 " + name;
    }
  }
  return constants + define("SIZES", parameters);
}

std::vector<Argument> KernelSizes::arguments(std::vector<Argument> first) const {
  if (!specialize_) {
    for (const auto& [name, value] : sizes_) first.emplace_back(value);
  }
  return first;
}

std::string define_index(int64_t elements) {
  return define("I", elements < std::numeric_limits<int32_t>::max() ? "u32" : "u64");
}

std::string moved_name(DType dtype) { return fmt::format("u{}", 8 * size_of(dtype)); }

std::string define_vector(const std::string& element, int64_t lanes) {
  return define("S", element) + define("W", fmt::to_string(lanes)) +
         "struct alignas(sizeof(S) * W) Vector {\n  S v[W];\n};\n";
}

int64_t lanes_for(size_t bytes, const std::vector<int64_t>& sizes) {
  int64_t lanes = 16 / static_cast<int64_t>(bytes);
  while (std::ranges::any_of(sizes, [&](int64_t size) { return size % lanes != 0; })) lanes /= 2;
  return lanes;
}

}  // namespace cornu::cuda
