// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct UnionResolverOptions {
  // None: the first resolver's.
  std::optional<std::string> task_type = {};
  std::optional<int64_t> task_id = {};
  std::optional<std::string> rpc_layer = {};
};

// The clusters of several resolvers as one (tf.distribute.cluster_resolver.UnionResolver). Lists of
// one job's tasks follow each other; where one of them lacks indices, all keep their indices, which
// must differ: InvalidArgument otherwise, and without a resolver. What a cluster can't say (the
// environment, accelerators, the master) is the first resolver's.
class UnionResolver : public ClusterResolver {
 public:
  explicit UnionResolver(const std::vector<ClusterResolver>& resolvers,
                         const UnionResolverOptions& options = {});
};

}  // namespace cornu::distribute
