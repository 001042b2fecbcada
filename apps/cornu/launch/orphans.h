// SPDX-License-Identifier: Apache-2.0
// Processes that tasks have started and left behind.
#pragma once

#include <sys/types.h>

#include <vector>

namespace apps {

// From now on, processes started by this one or its descendants become children of this process
// when their parents end.
void adopt_orphans();

// This process's living children in its own session. (A process with its own session has detached
// from whoever started it, e.g. a server used by other jobs.)
std::vector<pid_t> children_in_session();

}  // namespace apps
