// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct EnvironmentClusterResolverOptions {
  std::string rpc_layer = "grpc";
  ReadVariable read = process_variable;
};

// Resolves the processes started by torchrun, or by a launcher that sets the same environment
// variables: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; LOCAL_RANK and LOCAL_WORLD_SIZE if set.
// Rank r is worker r.
//
// On one machine (LOCAL_WORLD_SIZE equals WORLD_SIZE or, if it isn't set, MASTER_ADDR is a loopback
// address), rank r listens on MASTER_PORT + r. These variables only contain the first machine's
// address, so on several machines CORNU_HOSTS must name them: "ada,bob" or, one entry per rank,
// "ada:2222,bob:2222". If torchrun's own store occupies MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE),
// ports start right after it.
//
// Throws FailedPrecondition when a variable (including CORNU_HOSTS) is missing, and InvalidArgument
// when one can't be parsed or they are inconsistent.
class EnvironmentClusterResolver : public ClusterResolver {
 public:
  explicit EnvironmentClusterResolver(const EnvironmentClusterResolverOptions& options = {});
};

}  // namespace cornu::distribute
