// SPDX-License-Identifier: Apache-2.0
// Persistent threads that run local replicas concurrently.
#pragma once

#include "framework/core/threads.h"

namespace cornu {

// Calls `body(replica)` for each replica in [0, count): the first on the calling thread, the others
// on persistent threads. Each gets an equal share of the caller's compute threads. Returns when all
// have returned. `body` must not throw. Concurrent calls wait for each other.
void run_replicas(int count, FunctionRef<void(int)> body);

}  // namespace cornu
