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

}  // namespace cornu::callbacks
