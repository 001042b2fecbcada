// SPDX-License-Identifier: Apache-2.0
// Numbers the passes over a source of batches.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace cornu {

// Passes count from 0. Shards of one source are counted apart, so that each step's parts of them
// are those of one global batch, also where all of them are read by one process. Thread-safe.
class PassCounter {
 public:
  // The number of a new pass over the source, or over the part of it that `part` names.
  int64_t begin(const std::string& part) {
    const std::lock_guard lock(mutex_);
    return next_[part]++;
  }
  // The number that the next one will have.
  int64_t next(const std::string& part) const {
    const std::lock_guard lock(mutex_);
    const auto found = next_.find(part);
    return found == next_.end() ? 0 : found->second;
  }
  // The next pass will have this number.
  void set_next(const std::string& part, int64_t number) {
    const std::lock_guard lock(mutex_);
    next_[part] = number;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> next_;
};

}  // namespace cornu
