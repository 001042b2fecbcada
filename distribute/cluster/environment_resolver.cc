// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/environment_resolver.h"

#include "distribute/cluster/fixed_resolver.h"
#include "distribute/cluster/ranked_tasks.h"

namespace cornu::distribute {
namespace {

constexpr const char* kTorchrun = "EnvironmentClusterResolver";

FixedCluster torchrun_cluster(const EnvironmentClusterResolverOptions& options) {
  const ReadVariable& read = options.read;
  RankedProcess process{.launcher = "torchrun"};
  process.size = require_number(read, "WORLD_SIZE", kTorchrun, 1, 1'000'000);
  process.rank = require_number(read, "RANK", kTorchrun, 0, process.size - 1);
  process.local_size = read_number(read, "LOCAL_WORLD_SIZE", kTorchrun, 1, process.size);
  process.local_rank =
      read_number(read, "LOCAL_RANK", kTorchrun, 0, process.local_size.value_or(process.size) - 1);
  const std::string master = require_text(read, "MASTER_ADDR", kTorchrun);
  const int64_t port = require_number(read, "MASTER_PORT", kTorchrun, 1, 65535);
  const bool store_has_port = read("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return {
      .name = kTorchrun,
      .cluster = ranked_cluster(process, master, port + (store_has_port ? 1 : 0), read, kTorchrun),
      .task_type = "worker",
      .task_id = process.rank,
      .rpc_layer = options.rpc_layer};
}

}  // namespace

EnvironmentClusterResolver::EnvironmentClusterResolver(
    const EnvironmentClusterResolverOptions& options)
    : ClusterResolver(std::make_shared<FixedResolver>(torchrun_cluster(options))) {}

}  // namespace cornu::distribute
