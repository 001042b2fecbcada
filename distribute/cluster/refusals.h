// SPDX-License-Identifier: Apache-2.0
// Rate-limited warnings about rejected peers.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace cornu::distribute {

// The first refusals in a time window are each logged as a warning; further ones are counted and
// summarized in one warning at the end of the window. Thread-safe.
class Refusals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int kMaxWarnings = 20;
  static constexpr std::chrono::seconds kWhile{60};

  Refusals() = default;
  ~Refusals() { say_how_many(); }
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  void add(const std::string& peer, const std::string& why,
           Time now = std::chrono::steady_clock::now());
  // Call this from time to time.
  void tick(Time now = std::chrono::steady_clock::now());

 private:
  void say_how_many();  // with mutex_ held, or in the destructor

  std::mutex mutex_;  // guards all members below
  Time began_;        // start of the current window
  int warnings_ = 0;
  int64_t unsaid_ = 0;
  std::string last_;  // the last unreported one
};

}  // namespace cornu::distribute
