// SPDX-License-Identifier: Apache-2.0
// Links that make batches of their input's elements. Internal to data.
#pragma once

#include <optional>
#include <utility>

#include "data/node.h"

namespace cornu::data {

class BatchingNode : public Node {
 public:
  const ElementSpec& spec() const final { return spec_; }
  std::optional<int64_t> cardinality() const final {
    const auto items = input().cardinality();
    if (!items || *items == kInfiniteCardinality) return items;
    return drop_ ? *items / size_ : streams::parts_of(*items, size_);
  }
  bool works_on_parts() const final { return !drop_; }
  bool takes_any_order() const final { return true; }

 protected:
  // The spec, which derived classes adapt, is that of the input. Throws InvalidArgument, naming
  // `who`, for a batch size below 1.
  BatchingNode(NodePtr input, int64_t batch_size, bool drop_remainder, const char* who)
      : Node({std::move(input)}), size_(batch_size), drop_(drop_remainder) {
    check<InvalidArgument>(batch_size >= 1, "{}: expected a batch_size of at least 1, got {}.", who,
                           batch_size);
    spec_ = this->input().spec();
  }

  // The size of axis 0 of a batch, as far as it is known.
  Shape leading() const { return {drop_ ? size_ : kUnknown}; }

  int64_t size_;  // of a batch
  bool drop_;     // whether a smaller one at the end is left out
  ElementSpec spec_;
};

}  // namespace cornu::data
