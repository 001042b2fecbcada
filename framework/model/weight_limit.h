// SPDX-License-Identifier: Apache-2.0
// How much the weights of layers made from a file may take. Internal: saving.
#pragma once

#include <cstdint>

namespace cornu {

// While it lives, the layers that are built on its thread may add weights of so many bytes in all:
// a file's weights bound those of the model that its config describes, so that nothing is allocated
// for what isn't in the file.
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

 private:
  uint64_t stored_;
  uint64_t added_ = 0;
  WeightLimit* outer_;
};

}  // namespace cornu
