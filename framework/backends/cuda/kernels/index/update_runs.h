// SPDX-License-Identifier: Apache-2.0
// Many updates by index, which are sorted by where they are added: README.md.
#pragma once

#include <string>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// Updates, input 1, are added to y (outer, size, inner) by the indices of input 0.
struct IndexedUpdates {
  int64_t indices = 0;  // how many
  int64_t outer = 1;
  int64_t size = 0;
  int64_t inner = 1;
  DType dtype = DType::Float32;  // of updates
  DType index = DType::Int32;
  int64_t most_elements = 0;  // that an array has
  // The key of an index, its place on y's second axis, is made of a place on an axis of this length
  // that it means, the number of its block, of so many, and its column: sort_key.cu.
  int64_t axis = 0;
  int64_t block = 0;
  int64_t columns = 1;
  int64_t code = 0;  // of the check of indices
};

class UpdateRuns {
 public:
  // Sorts the numbers of the updates by their keys, stably: those that belong together lie together
  // then, in their order.
  UpdateRuns(const IndexedUpdates& updates, Lowering& to);

  // Adds up the updates of each key. Rows of y that get nothing stay as they are.
  enum class Rows : uint8_t { OfKeys, OfRuns };  // where sums go: to the place of a run's first one
  void add(Slot y, Rows rows) const;

  // By place: keys, of this type in kernels.
  Slot keys() const { return keys_[sorted_]; }
  const std::string& key_type() const { return key_; }

 private:
  void add_pass(int64_t shift, size_t into, int64_t blocks);

  IndexedUpdates updates_;
  Lowering& to_;
  std::string key_;
  Slot keys_[2];
  Slot order_[2];
  Slot counts_;
  Slot totals_;
  size_t sorted_ = 0;  // of the two buffers, the one that is sorted
};

}  // namespace cornu::cuda
