// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>

#include "distribute/cluster/environment_resolver.h"
#include "distribute/cluster/mpi_resolver.h"
#include "distribute/cluster/mpi_variables.h"
#include "distribute/cluster/slurm_resolver.h"
#include "distribute/cluster/tf_config_resolver.h"

namespace cornu::distribute {
namespace {

struct Place {
  int64_t rank;
  int64_t size;

  friend bool operator==(const Place&, const Place&) = default;
};

// Returns nullopt unless all of these are set and describe several tasks.
std::optional<Place> place_of(const ReadVariable& read, const char* rank, const char* size,
                              std::initializer_list<const char*> others) {
  for (const char* name : others) {
    if (!read(name)) return std::nullopt;
  }
  const std::string where = "The cluster of this process";
  const std::optional<int64_t> tasks = read_number(read, size, where);
  const std::optional<int64_t> own = read_number(read, rank, where);
  return tasks && own && *tasks > 1 ? std::optional(Place{*own, *tasks}) : std::nullopt;
}

std::optional<Place> mpi_place(const ReadVariable& read) {
  const std::optional<RankedProcess> process = read_mpi_process(read);
  if (!process || process->size < 2) return std::nullopt;
  return Place{process->rank, process->size};
}

}  // namespace

std::optional<ClusterResolver> resolve_default(const ReadVariable& read) {
  const std::string config = read("TF_CONFIG").value_or("");
  if (config.find_first_not_of(" \t\r\n") != std::string::npos) {
    return TFConfigClusterResolver({.read = read});
  }
  const auto slurm = place_of(read, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                              {"SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE"});
  const auto mpi = mpi_place(read);
  const auto torchrun = place_of(read, "RANK", "WORLD_SIZE", {"MASTER_ADDR", "MASTER_PORT"});
  // Slurm knows all addresses. But mpirun and torchrun also run inside its tasks, whose numbers
  // differ from those of the processes that they start.
  const bool nested = (mpi && mpi != slurm) || (torchrun && torchrun != slurm);
  if (slurm && !nested) return SlurmClusterResolver({.read = read});
  if (mpi && (!torchrun || torchrun == mpi)) return MPIClusterResolver({.read = read});
  if (torchrun) return EnvironmentClusterResolver({.read = read});
  return std::nullopt;
}

}  // namespace cornu::distribute
