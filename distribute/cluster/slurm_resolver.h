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
  // How many of the step's tasks are of which job, given out to ranks in the order of the jobs'
  // names. Empty: all are workers.
  std::map<std::string, int64_t> jobs = {};
  // Where the first task of a node listens; its others follow. None: the environment variable
  // CORNU_PORT_BASE, else 8888.
  std::optional<int64_t> port_base = {};
  std::string rpc_layer = "grpc";
  ReadVariable read = process_variable;
};

// The tasks of a Slurm step, which `srun ./program` starts
// (tf.distribute.cluster_resolver.SlurmClusterResolver). Reads SLURM_PROCID, SLURM_STEP_NUM_TASKS,
// SLURM_STEP_NODELIST, SLURM_STEP_TASKS_PER_NODE, and SLURM_DISTRIBUTION (block, cyclic, plane).
//
// FailedPrecondition where one of these is missing, InvalidArgument where they can't be read or
// don't fit together, or jobs have more or fewer tasks than the step. Unimplemented for arbitrary
// distributions. GPUs are given out by Slurm (srun --gpus-per-task).
class SlurmClusterResolver : public ClusterResolver {
 public:
  explicit SlurmClusterResolver(const SlurmClusterResolverOptions& options = {});
};

// The nodes of a list as Slurm writes it: "n[001-003,7],m1" is n001, n002, n003, n7, m1.
// InvalidArgument for other texts.
std::vector<std::string> expand_node_list(const std::string& text);

// Tasks by node: "2(x3),1" is 2, 2, 2, 1. InvalidArgument for other texts.
std::vector<int64_t> expand_tasks_per_node(const std::string& text);

}  // namespace cornu::distribute
