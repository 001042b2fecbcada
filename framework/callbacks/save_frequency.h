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
  std::optional<int64_t> batches() const { return batches_; }  // nullopt: at the end of each epoch

 private:
  std::optional<int64_t> batches_;
};

// Counts batches between saves. Calls may be several batches apart (steps_per_execution).
struct BatchesSinceSave {
  int64_t count = 0;
  std::optional<int64_t> last;  // the last batch's index in its epoch

  // Called after batch `batch` of its epoch: returns whether `every` batches have passed, and if so
  // restarts counting.
  bool is_due(int64_t batch, int64_t every);
};

}  // namespace cornu::callbacks
