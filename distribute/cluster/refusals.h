// SPDX-License-Identifier: Apache-2.0
// Warnings of those who are turned away, few enough to be read.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace cornu::distribute {

// Each of the first refusals of a while is a warning of its own; those behind them are counted, and
// said in one when the while is over. Thread-safe.
class Refusals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr int kMostWarnings = 20;
  static constexpr std::chrono::seconds kWhile{60};

  Refusals() = default;
  ~Refusals() { say_how_many(); }
  Refusals(const Refusals&) = delete;
  Refusals& operator=(const Refusals&) = delete;

  void add(const std::string& peer, const std::string& why,
           Time now = std::chrono::steady_clock::now());
  // To be called now and then.
  void tick(Time now = std::chrono::steady_clock::now());

 private:
  void say_how_many();  // with mutex_ held, or at the end

  std::mutex mutex_;  // guards all that follows
  Time began_;        // the while
  int warnings_ = 0;
  int64_t unsaid_ = 0;
  std::string last_;  // of them
};

}  // namespace cornu::distribute
