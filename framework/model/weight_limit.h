// SPDX-License-Identifier: Apache-2.0
// Limits the weights of layers that are created while loading a file. Internal: used by saving.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "framework/core/variable.h"

namespace cornu {

// While a WeightLimit is alive, the layers built on its thread may create only a limited total size
// of weights: the weights in a file bound those of the model that its config describes, so that no
// memory is allocated for weights that aren't in the file. Large weights also skip initialization
// when the file's values will replace them.
class WeightLimit {
 public:
  // `stored`: the total size of the file's weights in bytes. The limit is a multiple of it because
  // weights may have a wider dtype than their stored values.
  explicit WeightLimit(uint64_t stored);
  ~WeightLimit();
  WeightLimit(const WeightLimit&) = delete;
  WeightLimit& operator=(const WeightLimit&) = delete;

  // Accounts for a weight that is about to be created. Throws InvalidArgument when it exceeds the
  // limit; a no-op without a limit.
  static void add(uint64_t bytes);
  // Allows additional weights of this size that no file contains, up to some MiB in all.
  static void allow(uint64_t bytes);

  // Whether a weight of this size waits for the file's value. Such a weight is created from
  // uninitialized memory and passed to defer().
  static bool defers(uint64_t bytes);
  static void defer(const Variable& variable, std::function<Tensor()> initial_value);
  // Assigns initial values to deferred weights that still have no value because the file had none.
  void finish();

 private:
  struct Deferred {
    Variable variable;
    uint64_t version;  // when created
    std::function<Tensor()> initial_value;
  };
  std::vector<Deferred> deferred_;
  uint64_t stored_;
  uint64_t allowed_ = 0;
  uint64_t added_ = 0;
  WeightLimit* outer_;
};

}  // namespace cornu
