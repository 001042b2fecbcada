// SPDX-License-Identifier: Apache-2.0
// The communicator of replicas that are threads of one process.
#pragma once

#include <memory>
#include <vector>

#include "framework/graph/communicator.h"

namespace cornu {

// One end for each of `size` ranks. Every rank calls from a thread of its own; the same calls in
// the same order. Reductions go by rank, so all ranks get the same bits, whichever comes last.
// After abort() every waiting and later call throws Unavailable with the reason.
std::vector<std::unique_ptr<CollectiveGroup>> make_in_process_group(int size);

}  // namespace cornu
