// SPDX-License-Identifier: Apache-2.0
// What the texts of kernels that move elements have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// The sizes that a text names: constants of it where it is specialized, else parameters.
class KernelSizes {
 public:
  explicit KernelSizes(const Lowering& lowering) : specialize_(lowering.specialize()) {}

  void add(std::string name, int64_t value) { sizes_.emplace_back(std::move(name), value); }
  // The constants, and SIZES, with which the text ends its list of parameters.
  std::string definitions() const;
  // `first`, then the sizes that are parameters.
  std::vector<Argument> arguments(std::vector<Argument> first) const;

 private:
  bool specialize_;
  std::vector<std::pair<std::string, int64_t>> sizes_;
};

// "#define I u32\n", or u64 where there are more elements than that should count.
std::string define_index(int64_t elements);

// The unsigned integer of an element's size, for those that are only moved: "u16".
std::string moved_name(DType dtype);

// Defines S (as given), W (lanes) and Vector, which holds W of S.
std::string define_vector(const std::string& element, int64_t lanes);

// The most elements of `bytes` that a thread should move at once, of those that divide all `sizes`.
int64_t lanes_for(size_t bytes, const std::vector<int64_t>& sizes);

}  // namespace cornu::cuda
