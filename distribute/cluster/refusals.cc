// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/refusals.h"

#include <utility>

#include <fmt/core.h>

#include "framework/core/logging.h"
#include "framework/core/strings.h"

namespace cornu::distribute {

void Refusals::add(const std::string& peer, const std::string& why, Time now) {
  tick(now);
  const std::lock_guard lock(mutex_);
  if (warnings_ == 0) began_ = now;
  if (warnings_ < kMaxWarnings) {
    ++warnings_;
    logging::warn(fmt::format("Cluster: turned {} away: {}", peer, printable(why, 500)));
  } else {
    ++unsaid_;
    last_ = peer;
  }
}

void Refusals::tick(Time now) {
  const std::lock_guard lock(mutex_);
  if (warnings_ == 0 || now - began_ < kWhile) return;
  say_how_many();
  warnings_ = 0;
}

void Refusals::say_how_many() {
  if (unsaid_ == 0) return;
  logging::warn(fmt::format("Cluster: turned {} more connections away, the last one from {}",
                            std::exchange(unsaid_, 0), last_));
}

}  // namespace cornu::distribute
