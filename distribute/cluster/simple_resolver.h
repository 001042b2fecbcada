// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct SimpleClusterResolverOptions {
  std::string master = "";  // what master() returns when no task is given
  std::optional<std::string> task_type = {};
  std::optional<int64_t> task_id = {};
  std::string environment = "";
  std::map<std::string, int64_t> num_accelerators = {};  // {"GPU": 2}
  std::string rpc_layer = "";
};

// A cluster given by the program itself (tf.distribute.cluster_resolver.SimpleClusterResolver).
// Throws the errors of check_cluster and check_task (cluster_spec.h).
//
//   distribute::SimpleClusterResolver resolver({{"worker", {"ada:2222", "bob:2222"}}},
//                                              {.task_type = "worker", .task_id = 0});
class SimpleClusterResolver : public ClusterResolver {
 public:
  explicit SimpleClusterResolver(const ClusterSpec& cluster_spec,
                                 const SimpleClusterResolverOptions& options = {});
};

}  // namespace cornu::distribute
