// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct MPIClusterResolverOptions {
  // Port of the first task on a machine; its other tasks follow. nullopt: the environment variable
  // MASTER_PORT, else CORNU_PORT_BASE, else 8888.
  std::optional<int64_t> port_base = {};
  std::string rpc_layer = "grpc";
  ReadVariable read = process_variable;
};

// Resolves the processes started by `mpirun ./program`; the program itself doesn't need MPI. Reads
// rank, size, and rank and size on the machine as set by Open MPI (OMPI_COMM_WORLD_RANK, …), MPICH,
// Intel MPI (PMI_RANK, MPI_LOCALRANKID, …) and MVAPICH (MV2_COMM_WORLD_RANK, …), or PMIX_RANK with
// the size from WORLD_SIZE or SLURM_STEP_NUM_TASKS. Rank r is worker r.
//
// MPI doesn't provide addresses. On one machine the address is MASTER_ADDR, or 127.0.0.1:
//   mpirun -n 4 ./program
// On several machines (--host, --hostfile), CORNU_HOSTS names them in the order in which they are
// filled with ranks, with the same number of ranks on each; or it lists one "host:port" per rank:
//   mpirun -n 8 --host ada:4,bob:4 -x CORNU_HOSTS=ada,bob ./program        (Open MPI)
//   mpiexec -n 8 -ppn 4 -hosts ada,bob -env CORNU_HOSTS ada,bob ./program  (MPICH, Intel MPI)
//
// Throws FailedPrecondition when variables (including CORNU_HOSTS) are missing, and InvalidArgument
// when one can't be parsed or they are inconsistent.
class MPIClusterResolver : public ClusterResolver {
 public:
  explicit MPIClusterResolver(const MPIClusterResolverOptions& options = {});
};

}  // namespace cornu::distribute
