// SPDX-License-Identifier: Apache-2.0
// Groups of workers that are threads of one process.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "distribute/collectives/shared_memory.h"
#include "distribute/collectives/socket_transport.h"
#include "distribute/collectives/worker_collectives.h"

namespace cornu::test {

using Transports = std::vector<std::unique_ptr<distribute::Transport>>;
using Groups = std::vector<std::shared_ptr<distribute::WorkerCollectives>>;

// Transports by rank.
Transports over_sockets(int workers,
                        std::chrono::milliseconds timeout = distribute::kCollectiveTimeout);
Transports over_shared_memory(int workers,
                              std::chrono::milliseconds timeout = distribute::kCollectiveTimeout);

Groups groups_of(Transports transports, int replicas,
                 const distribute::Communication& communication = distribute::ring_communication(),
                 const distribute::CollectivesOptions& options = {});

// Calls `body` with each end of all groups, each on its own thread.
void on_ranks(const Groups& groups, const std::function<void(CollectiveGroup&)>& body);

}  // namespace cornu::test
