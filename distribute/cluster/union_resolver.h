// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct UnionResolverOptions {
  // nullopt: the first resolver's.
  std::optional<std::string> task_type = {};
  std::optional<int64_t> task_id = {};
  std::optional<std::string> rpc_layer = {};
};

// Merges the clusters of several resolvers (tf.distribute.cluster_resolver.UnionResolver). Task
// lists of the same job are concatenated; if one of them has missing indices, all keep their
// indices, which must then be distinct. Throws InvalidArgument otherwise, and when there are no
// resolvers. Everything outside the cluster itself (environment, accelerators, master) is taken
// from the first resolver.
class UnionResolver : public ClusterResolver {
 public:
  explicit UnionResolver(const std::vector<ClusterResolver>& resolvers,
                         const UnionResolverOptions& options = {});
};

}  // namespace cornu::distribute
