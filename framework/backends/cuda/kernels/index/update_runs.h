// SPDX-License-Identifier: Apache-2.0
// Indexed updates in large numbers, sorted by destination: see README.md.
#pragma once

#include <string>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// Adds updates (input 1) to y (outer, size, inner) by the indices in input 0.
struct IndexedUpdates {
  int64_t indices = 0;  // their number
  int64_t outer = 1;
  int64_t size = 0;
  int64_t inner = 1;
  DType dtype = DType::Float32;  // of the updates
  DType index = DType::Int32;
  int64_t most_elements = 0;  // of the largest array
  // The key of index number i is its place on y's second axis:
  // (i / block * axis + place) * columns + i % columns, where `place` is what the index denotes on
  // an axis of length `axis`: sort_key.cu.
  int64_t axis = 0;
  int64_t block = 0;
  int64_t columns = 1;
  int64_t code = 0;  // of the index check
};

class UpdateRuns {
 public:
  // Sorts the numbers of the updates by key, stably: updates of one key become adjacent, in their
  // original order.
  UpdateRuns(const IndexedUpdates& updates, Lowering& to);

  // Adds up the updates of each key. Rows of y without updates are left unchanged.
  enum class Rows : uint8_t {
    OfKeys,
    OfRuns
  };  // where sums go: by key, or to the position of a run's first update
  void add(Slot y, Rows rows) const;

  // Keys by position; key_type() is their type in kernels.
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
  size_t sorted_ = 0;  // which of the two buffers is sorted
};

}  // namespace cornu::cuda
