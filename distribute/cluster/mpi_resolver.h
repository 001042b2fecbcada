// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct MPIClusterResolverOptions {
  // Where the first task of a machine listens; its others follow. None: the environment variable
  // MASTER_PORT, else CORNU_PORT_BASE, else 8888.
  std::optional<int64_t> port_base = {};
  std::string rpc_layer = "grpc";
  ReadVariable read = process_variable;
};

// The processes that `mpirun ./program` has started; the program itself needs no MPI. Reads rank,
// size, and rank and size on the machine as Open MPI (OMPI_COMM_WORLD_RANK, …), MPICH, Intel MPI
// (PMI_RANK, MPI_LOCALRANKID, …) and MVAPICH (MV2_COMM_WORLD_RANK, …) set them, or PMIX_RANK, with
// the size from WORLD_SIZE or SLURM_STEP_NUM_TASKS. Rank r is worker r.
//
// MPI tells nobody's address. On one machine that is MASTER_ADDR, or 127.0.0.1:
//   mpirun -n 4 ./program
// With several ones (--host, --hostfile) CORNU_HOSTS names them, in the order in which they are
// filled with ranks; each needs equally many, or a "host:port" for each rank:
//   mpirun -n 8 --host ada:4,bob:4 -x CORNU_HOSTS=ada,bob ./program        (Open MPI)
//   mpiexec -n 8 -ppn 4 -hosts ada,bob -env CORNU_HOSTS ada,bob ./program  (MPICH, Intel MPI)
//
// FailedPrecondition where variables are missing, CORNU_HOSTS too; InvalidArgument where one can't
// be read, or they don't fit together.
class MPIClusterResolver : public ClusterResolver {
 public:
  explicit MPIClusterResolver(const MPIClusterResolverOptions& options = {});
};

}  // namespace cornu::distribute
