// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct TFConfigClusterResolverOptions {
  // nullopt: the value in TF_CONFIG.
  std::optional<std::string> task_type = {};
  std::optional<int64_t> task_id = {};
  std::optional<std::string> rpc_layer = {};
  std::optional<std::string> environment = {};
  ReadVariable read = process_variable;
};

// Reads the environment variable TF_CONFIG
// (tf.distribute.cluster_resolver.TFConfigClusterResolver):
//
//   {"cluster": {"worker": ["ada:2222", "bob:2222"]}, "task": {"type": "worker", "index": 0}}
//
// as set by `cornu launch` and Kubeflow's TFJob. It may also contain "rpc_layer", "environment" and
// "session_master"; other members are ignored. Unset or empty: no cluster.
//
// Throws InvalidArgument when the value isn't such an object, and the errors of check_cluster and
// check_task (cluster_spec.h).
class TFConfigClusterResolver : public ClusterResolver {
 public:
  explicit TFConfigClusterResolver(const TFConfigClusterResolverOptions& options = {});
};

}  // namespace cornu::distribute
