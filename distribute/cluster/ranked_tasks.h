// SPDX-License-Identifier: Apache-2.0
// Clusters of launchers that number their processes, and leave it to these where they listen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "distribute/cluster/cluster_spec.h"
#include "distribute/cluster/environment.h"

namespace cornu::distribute {

// A process's place, as its launcher tells it.
struct RankedProcess {
  std::string launcher;  // "mpirun"
  int64_t rank = 0;
  int64_t size = 1;
  // On its machine; none where the launcher doesn't say.
  std::optional<int64_t> local_rank = {};
  std::optional<int64_t> local_size = {};
};

// "host:port". InvalidArgument, beginning with `where`, for a port over 65535.
std::string address_on(const std::string& host, int64_t port, const std::string& where);

// Where the first task of a machine listens: `given`, else the environment variable
// CORNU_PORT_BASE, else 8888.
int64_t port_base(const std::optional<int64_t>& given, const ReadVariable& read,
                  const std::string& where);

// Worker r is rank r. On one machine they listen at `master`, on the ports `port`, port + 1, …
// Otherwise CORNU_HOSTS has to say where: "host[:port]" for each rank, or for each machine, whose
// ranks then follow each other; where no port is given, the tasks of a host have `port`, port + 1,
// … FailedPrecondition, beginning with `where`, when it isn't set; InvalidArgument when its entries
// are too many or too few.
ClusterSpec ranked_cluster(const RankedProcess& process, const std::string& master, int64_t port,
                           const ReadVariable& read, const std::string& where);

}  // namespace cornu::distribute
