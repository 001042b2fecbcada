// SPDX-License-Identifier: Apache-2.0
// Numbers the passes over a source of batches.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace cornu {

// Passes are numbered from 0. Shards of one source are counted separately, so that in each step
// their parts belong to the same global batch, even if all of them are read by one process.
// Thread-safe.
class PassCounter {
 public:
  // Returns the number of a new pass over the source, or over the shard named by `part`.
  int64_t begin(const std::string& part) {
    const std::lock_guard lock(mutex_);
    return next_[part]++;
  }
  // The number of the next pass.
  int64_t next(const std::string& part) const {
    const std::lock_guard lock(mutex_);
    const auto found = next_.find(part);
    return found == next_.end() ? 0 : found->second;
  }
  // Sets the number of the next pass.
  void set_next(const std::string& part, int64_t number) {
    const std::lock_guard lock(mutex_);
    next_[part] = number;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> next_;
};

}  // namespace cornu
