// SPDX-License-Identifier: Apache-2.0
// Clusters whose launchers number the processes but leave their listening addresses open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "distribute/cluster/cluster_spec.h"
#include "distribute/cluster/environment.h"

namespace cornu::distribute {

// A process's place, as reported by its launcher.
struct RankedProcess {
  std::string launcher;  // "mpirun"
  int64_t rank = 0;
  int64_t size = 1;
  // Rank and size on its machine; nullopt when the launcher doesn't provide them.
  std::optional<int64_t> local_rank = {};
  std::optional<int64_t> local_size = {};
};

// Returns "host:port". Throws InvalidArgument, with a message starting with `where`, for a port
// above 65535.
std::string address_on(const std::string& host, int64_t port, const std::string& where);

// Port of the first task on a machine: `given`, else the environment variable CORNU_PORT_BASE, else
// 8888.
int64_t port_base(const std::optional<int64_t>& given, const ReadVariable& read,
                  const std::string& where);

// Worker r is rank r. On one machine, the workers listen at `master` on the ports `port`, port + 1,
// … Otherwise CORNU_HOSTS must list them: "host[:port]" for each rank, or for each machine, which
// holds consecutive ranks. Without a port in CORNU_HOSTS, the tasks of a host use `port`, port + 1,
// … Throws FailedPrecondition, with a message starting with `where`, when CORNU_HOSTS isn't set,
// and InvalidArgument when it has too many or too few entries.
ClusterSpec ranked_cluster(const RankedProcess& process, const std::string& master, int64_t port,
                           const ReadVariable& read, const std::string& where);

}  // namespace cornu::distribute
