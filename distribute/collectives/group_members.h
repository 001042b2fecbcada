// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distribute/collectives/transport.h"

namespace cornu::distribute {

// The members of a group, and what its transports need besides their connections.
struct GroupMembers {
  int rank = 0;
  std::vector<std::string> addresses;  // by rank, for messages
  std::chrono::milliseconds timeout = kCollectiveTimeout;
  // The current step, for PeerLost.
  std::shared_ptr<std::atomic<int64_t>> step = std::make_shared<std::atomic<int64_t>>(0);

  int size() const { return static_cast<int>(addresses.size()); }
  // Returns PeerLost for a rank whose connection has ended.
  std::exception_ptr lost(int peer) const;
  // Returns DeadlineExceeded for a wait on these ranks.
  std::exception_ptr waited_too_long(int to, int from) const;
};

// The error that ends a group. Thread-safe.
class GroupEnd {
 public:
  // Returns whether this was the first error.
  bool set(std::exception_ptr why);
  bool is_set() const { return is_set_; }
  void rethrow_if_set() const;
  [[noreturn]] void raise(std::exception_ptr why);

 private:
  std::atomic<bool> is_set_ = false;
  mutable std::mutex mutex_;
  std::exception_ptr why_;
};

}  // namespace cornu::distribute
