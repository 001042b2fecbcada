// SPDX-License-Identifier: Apache-2.0
// The source of windows, and nodes built on them.
#pragma once

#include "data/transforms/inner_datasets.h"

namespace cornu::data {

struct Windowing {
  int64_t size;
  int64_t shift;
  int64_t stride;
  bool drop_remainder;

  int64_t span() const;  // from the first to the last element of a window
};

// A dataset with window()'s arguments. Immutable.
class WindowSource {
 public:
  WindowSource(NodePtr input, int64_t size, const WindowOptions& options);

  const NodePtr& input() const { return input_; }
  // The same windowing of another dataset.
  WindowSource over(NodePtr input) const {
    WindowSource windows = *this;
    windows.input_ = std::move(input);
    return windows;
  }
  StreamPtr<Window> open(Pass pass) const;
  std::optional<int64_t> cardinality() const;
  std::string describe() const;

 private:
  NodePtr input_;
  Windowing how_;
};

// `one_each`: whether the datasets that `f` makes have one element each.
NodePtr make_of_windows(std::shared_ptr<const WindowSource> windows, MakeNodeOfWindow f,
                        const FlatMapOptions& options, bool one_each);

}  // namespace cornu::data
