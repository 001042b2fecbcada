// SPDX-License-Identifier: Apache-2.0
// How weights are made of layers that come from a file. Internal: saving.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "framework/core/variable.h"

namespace cornu {

// While it lives, the layers that are built on its thread may add weights of so many bytes in all:
// a file's weights bound those of the model that its config describes, so that nothing is allocated
// for what isn't in the file. Nor are large weights given values that the file's will replace.
class WeightLimit {
 public:
  // `stored`: the bytes of the file's weights. A stored float16 may become a float64.
  explicit WeightLimit(uint64_t stored);
  ~WeightLimit();
  WeightLimit(const WeightLimit&) = delete;
  WeightLimit& operator=(const WeightLimit&) = delete;

  // Takes note of a weight that is about to be made. InvalidArgument when it is one too many;
  // nothing without a limit.
  static void add(uint64_t bytes);
  // Weights of so many bytes come that no file has: some MiB of such are allowed beside the file's.
  static void allow(uint64_t bytes);

  // Whether a weight of so many bytes waits for the file's value: then it is made of uninitialized
  // memory, and defer() is told of it.
  static bool defers(uint64_t bytes);
  static void defer(const Variable& variable, std::function<Tensor()> initial_value);
  // Gives those weights that have still got no value, which the file didn't have, their initial
  // one.
  void finish();

 private:
  struct Deferred {
    Variable variable;
    uint64_t version;  // as it was made
    std::function<Tensor()> initial_value;
  };
  std::vector<Deferred> deferred_;
  uint64_t stored_;
  uint64_t allowed_ = 0;
  uint64_t added_ = 0;
  WeightLimit* outer_;
};

}  // namespace cornu
