// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/simple_resolver.h"

#include "distribute/cluster/fixed_resolver.h"

namespace cornu::distribute {
namespace {

class Simple : public FixedResolver {
 public:
  Simple(FixedCluster known, std::string master)
      : FixedResolver(std::move(known)), master_(std::move(master)) {
    check_cluster(known_.cluster, known_.name);
    if (known_.task_type && known_.task_id) {
      check_task(known_.cluster, {*known_.task_type, *known_.task_id}, known_.name);
    }
  }

  std::string master(const std::optional<Task>& task,
                     const std::optional<std::string>& rpc_layer) const override {
    if (task) return FixedResolver::master(task, rpc_layer);
    const std::string layer = rpc_layer.value_or(known_.rpc_layer);
    return layer.empty() || master_.empty() ? master_ : layer + "://" + master_;
  }

 private:
  const std::string master_;
};

}  // namespace

SimpleClusterResolver::SimpleClusterResolver(const ClusterSpec& cluster_spec,
                                             const SimpleClusterResolverOptions& options)
    : ClusterResolver(
          std::make_shared<Simple>(FixedCluster{.name = "SimpleClusterResolver",
                                                .cluster = cluster_spec,
                                                .task_type = options.task_type,
                                                .task_id = options.task_id,
                                                .environment = options.environment,
                                                .rpc_layer = options.rpc_layer,
                                                .num_accelerators = options.num_accelerators},
                                   options.master)) {}

}  // namespace cornu::distribute
