// SPDX-License-Identifier: Apache-2.0
// Communicators between threads of one process.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "framework/graph/communicator.h"

namespace cornu {

// Who reduces what all ranks of a group give: each of them a share of the elements, or the first
// one everything. The bits are the same.
enum class Reducers { All, First };

struct InProcessGroupOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  Reducers reducers = Reducers::All;
};

// The ends of a group, one a rank; each is for one thread at a time. A rank that waits longer than
// the timeout for the others throws DeadlineExceeded, which names those that didn't come.
std::vector<std::unique_ptr<CollectiveGroup>> make_in_process_group(
    int size, const InProcessGroupOptions& options = {});

}  // namespace cornu
