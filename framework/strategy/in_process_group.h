// SPDX-License-Identifier: Apache-2.0
// Communicators between threads of one process.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "framework/graph/communicator.h"

namespace cornu {

// Which ranks do the work of a reduction: all of them, each with a share of the elements, or only
// the first one. The bits are the same.
enum class Reducers { All, First };

struct InProcessGroupOptions {
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  Reducers reducers = Reducers::All;
};

// Creates the ends of a group, one per rank; each must be used by one thread at a time. A rank that
// waits longer than the timeout for the others throws DeadlineExceeded, which names the missing
// ones.
std::vector<std::unique_ptr<CollectiveGroup>> make_in_process_group(
    int size, const InProcessGroupOptions& options = {});

}  // namespace cornu
