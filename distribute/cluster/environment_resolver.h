// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct EnvironmentClusterResolverOptions {
  std::string rpc_layer = "grpc";
  ReadVariable read = process_variable;
};

// The processes that torchrun, or a launcher which sets the same environment variables, has
// started: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; LOCAL_RANK and LOCAL_WORLD_SIZE where
// they are known. Rank r is worker r.
//
// On one machine (LOCAL_WORLD_SIZE is WORLD_SIZE; or, where it isn't set, MASTER_ADDR is a loopback
// address) rank r listens on MASTER_PORT + r. These variables tell the first machine's address
// alone: on several ones CORNU_HOSTS has to name them, "ada,bob" or, for each rank,
// "ada:2222,bob:2222". Where torchrun's own store has MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE),
// ports begin behind it.
//
// FailedPrecondition where a variable is missing, CORNU_HOSTS too; InvalidArgument where one can't
// be read, or they don't fit together.
class EnvironmentClusterResolver : public ClusterResolver {
 public:
  explicit EnvironmentClusterResolver(const EnvironmentClusterResolverOptions& options = {});
};

}  // namespace cornu::distribute
