// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/cluster_resolver.h"

#include "framework/graph/devices.h"

namespace cornu::distribute {

std::map<std::string, int64_t> ClusterResolverImpl::num_accelerators() const {
  std::map<std::string, int64_t> counts;
  for (const config::LogicalDevice& device : config::list_logical_devices()) {
    if (device.device_type != DeviceType::Cpu) ++counts[std::string(to_string(device.device_type))];
  }
  return counts;
}

std::string ClusterResolverImpl::master(const std::optional<Task>& task,
                                        const std::optional<std::string>& rpc_layer) const {
  const std::optional<std::string> type = task_type();
  const std::optional<int64_t> index = task_id();
  if (!task && (!type || !index)) return "";
  const ClusterSpec cluster = cluster_spec();
  if (!cluster) return "";
  const std::string layer = rpc_layer.value_or(this->rpc_layer());
  const std::string& address = cluster.task_address(task ? *task : Task{*type, *index});
  return layer.empty() ? address : layer + "://" + address;
}

std::optional<Task> ClusterResolver::task() const {
  const std::optional<std::string> type = task_type();
  const std::optional<int64_t> index = task_id();
  return type && index ? std::optional(Task{*type, *index}) : std::nullopt;
}

}  // namespace cornu::distribute
