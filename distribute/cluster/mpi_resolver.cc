// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/mpi_resolver.h"

#include "distribute/cluster/fixed_resolver.h"
#include "distribute/cluster/mpi_variables.h"
#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

constexpr const char* kMpi = "MPIClusterResolver";

// The variable names of one MPI implementation.
struct MpiVariables {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

constexpr MpiVariables kImplementations[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
     "MV2_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"PMIX_RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""},
};

FixedCluster mpi_cluster(const MPIClusterResolverOptions& options) {
  const ReadVariable& read = options.read;
  const std::optional<RankedProcess> process = read_mpi_process(read);
  check<FailedPrecondition>(
      process.has_value(),
      "{}: none of the environment variables OMPI_COMM_WORLD_RANK and …_SIZE, "
      "MV2_COMM_WORLD_RANK and …_SIZE, PMI_RANK and PMI_SIZE, PMIX_RANK and "
      "WORLD_SIZE is set. Start the program with mpirun.",
      kMpi);
  const bool on_one_machine = process->local_size == process->size;
  const std::string master = read("MASTER_ADDR").value_or(on_one_machine ? "127.0.0.1" : "");
  std::optional<int64_t> port = options.port_base;
  if (!port) port = read_number(read, "MASTER_PORT", kMpi, 1, 65535);
  return {.name = kMpi,
          .cluster = ranked_cluster(*process, master, port_base(port, read, kMpi), read, kMpi),
          .task_type = "worker",
          .task_id = process->rank,
          .rpc_layer = options.rpc_layer};
}

}  // namespace

std::optional<RankedProcess> read_mpi_process(const ReadVariable& read) {
  for (const MpiVariables& names : kImplementations) {
    if (!read(names.rank) || !read(names.size)) continue;
    RankedProcess process{.launcher = "mpirun"};
    process.size = *read_number(read, names.size, kMpi, 1, 1'000'000);
    process.rank = *read_number(read, names.rank, kMpi, 0, process.size - 1);
    process.local_size = read_number(read, names.local_size, kMpi, 1, process.size);
    process.local_rank =
        read_number(read, names.local_rank, kMpi, 0, process.local_size.value_or(process.size) - 1);
    return process;
  }
  return std::nullopt;
}

MPIClusterResolver::MPIClusterResolver(const MPIClusterResolverOptions& options)
    : ClusterResolver(std::make_shared<FixedResolver>(mpi_cluster(options))) {}

}  // namespace cornu::distribute
