// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "framework/strategy/in_process_group.h"

namespace cornu::test {

// Calls `body` with each end of a new group, each on its own thread.
inline void on_ranks(int ranks, const std::function<void(CollectiveGroup&)>& body,
                     const InProcessGroupOptions& options = {}) {
  const auto group = make_in_process_group(ranks, options);
  std::vector<std::thread> threads;
  for (const auto& end : group) threads.emplace_back([&body, &end] { body(*end); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cornu::test
