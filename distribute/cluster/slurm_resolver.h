// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct SlurmClusterResolverOptions {
  // Number of the step's tasks in each job, assigned to ranks in the order of the jobs' names.
  // Empty: all are workers.
  std::map<std::string, int64_t> jobs = {};
  // Port of the first task on a node; its other tasks follow. nullopt: the environment variable
  // CORNU_PORT_BASE, else 8888.
  std::optional<int64_t> port_base = {};
  std::string rpc_layer = "grpc";
  ReadVariable read = process_variable;
};

// Resolves the tasks of a Slurm step started by `srun ./program`
// (tf.distribute.cluster_resolver.SlurmClusterResolver). Reads SLURM_PROCID, SLURM_STEP_NUM_TASKS,
// SLURM_STEP_NODELIST, SLURM_STEP_TASKS_PER_NODE, and SLURM_DISTRIBUTION (block, cyclic, plane).
//
// Throws FailedPrecondition when one of these is missing, InvalidArgument when they can't be parsed
// or are inconsistent or when the jobs have more or fewer tasks than the step, and Unimplemented
// for arbitrary distributions. GPUs are assigned by Slurm (srun --gpus-per-task).
class SlurmClusterResolver : public ClusterResolver {
 public:
  explicit SlurmClusterResolver(const SlurmClusterResolverOptions& options = {});
};

// Expands a node list in Slurm's notation: "n[001-003,7],m1" is n001, n002, n003, n7, m1. Throws
// InvalidArgument for malformed lists.
std::vector<std::string> expand_node_list(const std::string& text);

// Expands task counts by node: "2(x3),1" is 2, 2, 2, 1. Throws InvalidArgument for malformed text.
std::vector<int64_t> expand_tasks_per_node(const std::string& text);

}  // namespace cornu::distribute
