// SPDX-License-Identifier: Apache-2.0
// Communicators between threads of one process.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "framework/graph/communicator.h"

namespace cornu {

// The ends of a group, one a rank; each is for one thread at a time. A rank that waits longer than
// `timeout` for the others throws DeadlineExceeded, which names those that didn't come.
std::vector<std::unique_ptr<CollectiveGroup>> make_in_process_group(
    int size, std::chrono::milliseconds timeout = std::chrono::minutes(10));

}  // namespace cornu
