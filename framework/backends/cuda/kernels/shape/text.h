// SPDX-License-Identifier: Apache-2.0
// Common parts of the texts of kernels that move elements.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// The sizes named in a text: constants if it is specialized, otherwise parameters.
class KernelSizes {
 public:
  explicit KernelSizes(const Lowering& lowering) : specialize_(lowering.specialize()) {}

  void add(std::string name, int64_t value) { sizes_.emplace_back(std::move(name), value); }
  // The constants, and SIZES, which ends the text's parameter list.
  std::string definitions() const;
  // `first`, followed by the sizes that are parameters.
  std::vector<Argument> arguments(std::vector<Argument> first) const;

 private:
  bool specialize_;
  std::vector<std::pair<std::string, int64_t>> sizes_;
};

// "#define I u32\n", or u64 if there are more elements than u32 can safely count.
std::string define_index(int64_t elements);

// The unsigned integer type with an element's size, for elements that are only moved: "u16".
std::string moved_name(DType dtype);

// Defines S (as given), W (lanes) and Vector, which holds W elements of type S.
std::string define_vector(const std::string& element, int64_t lanes);

// The largest number of elements of `bytes` bytes that a thread should move together and that
// divides all `sizes`.
int64_t lanes_for(size_t bytes, const std::vector<int64_t>& sizes);

}  // namespace cornu::cuda
