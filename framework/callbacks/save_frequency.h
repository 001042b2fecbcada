// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace cornu::callbacks {

// "epoch", or a number of batches.
class SaveFrequency {
 public:
  SaveFrequency(const char* text);  // NOLINT: implicit on purpose; InvalidArgument otherwise
  SaveFrequency(int64_t batches);   // NOLINT: InvalidArgument below 1
  SaveFrequency(int batches) : SaveFrequency(static_cast<int64_t>(batches)) {}  // NOLINT
  std::optional<int64_t> batches() const { return batches_; }  // None: at the end of each epoch

 private:
  std::optional<int64_t> batches_;
};

// Counts batches between two saves. Calls may be some batches apart (steps_per_execution).
struct BatchesSinceSave {
  int64_t count = 0;
  std::optional<int64_t> last;  // the last batch's number in its epoch

  // After batch `batch` of its epoch: whether there were `every` batches, which are then counted
  // anew.
  bool is_due(int64_t batch, int64_t every);
};

}  // namespace cornu::callbacks
