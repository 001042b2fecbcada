// SPDX-License-Identifier: Apache-2.0
// Processes that tasks have started and left.
#pragma once

#include <sys/types.h>

#include <vector>

namespace apps {

// From now on processes whose parents have ended are children of this one, if it or its children
// have started them.
void adopt_orphans();

// This process's children of its own session that live. (One that has made a session of its own has
// left whoever started it: a server that other jobs use, say.)
std::vector<pid_t> children_in_session();

}  // namespace apps
