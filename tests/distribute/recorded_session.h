// SPDX-License-Identifier: Apache-2.0
// A session without a connection.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "distribute/cluster/session.h"

namespace cornu::test {

// Records the messages that are sent through it. Thread-safe.
class RecordedSession : public distribute::Session {
 public:
  explicit RecordedSession(std::string peer = "peer") : peer_(std::move(peer)) {}

  void send(const Json& message) override {
    const std::lock_guard lock(mutex_);
    sent_.push_back(message);
    said_.notify_all();
  }
  void close(const std::string&) override { closed = true; }
  std::string peer() const override { return peer_; }

  // The messages of a kind, or all messages if `kind` is "".
  std::vector<Json> sent(std::string_view kind = "") {
    const std::lock_guard lock(mutex_);
    return of_kind(kind);
  }
  // Waits for a message of the kind and returns the last one.
  Json wait_for(std::string_view kind) {
    std::unique_lock lock(mutex_);
    said_.wait(lock, [&] { return !of_kind(kind).empty(); });
    return of_kind(kind).back();
  }

  std::atomic<bool> closed = false;

 private:
  std::vector<Json> of_kind(std::string_view kind) const {
    std::vector<Json> found;
    for (const Json& message : sent_) {
      if (kind.empty() || message.at("kind").as_string() == kind) found.push_back(message);
    }
    return found;
  }

  const std::string peer_;
  std::mutex mutex_;
  std::condition_variable said_;
  std::vector<Json> sent_;
};

}  // namespace cornu::test
