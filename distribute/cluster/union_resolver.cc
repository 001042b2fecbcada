// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/union_resolver.h"

#include <algorithm>
#include <set>
#include <utility>

#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

bool lacks_indices(const ClusterSpec& cluster, const std::string& job) {
  const std::vector<int64_t> indices = cluster.task_indices(job);
  return !indices.empty() && indices.back() >= static_cast<int64_t>(indices.size());
}

ClusterSpec union_of(const std::vector<ClusterSpec>& clusters) {
  std::set<std::string> keeping_indices;
  for (const ClusterSpec& cluster : clusters) {
    for (const std::string& job : cluster.jobs()) {
      if (lacks_indices(cluster, job)) keeping_indices.insert(job);
    }
  }
  std::map<std::string, ClusterSpec::Tasks> jobs;
  for (const ClusterSpec& cluster : clusters) {
    for (const std::string& job : cluster.jobs()) {
      ClusterSpec::Tasks& tasks = jobs[job];
      const bool keeps = keeping_indices.contains(job);
      const auto shift = keeps ? int64_t{0} : static_cast<int64_t>(tasks.size());
      for (const int64_t index : cluster.task_indices(job)) {
        const bool added = tasks.emplace(index + shift, cluster.task_address(job, index)).second;
        check<InvalidArgument>(added, "UnionResolver: two of the clusters have a {}.",
                               to_string(Task{job, index}));
      }
    }
  }
  return ClusterSpec::from_tasks(std::move(jobs));
}

class Union : public ClusterResolverImpl {
 public:
  Union(std::vector<ClusterResolver> resolvers, UnionResolverOptions options)
      : resolvers_(std::move(resolvers)), options_(std::move(options)) {
    check<InvalidArgument>(!resolvers_.empty(),
                           "UnionResolver: expected at least one resolver, got none.");
  }

  std::string name() const override { return "UnionResolver"; }
  ClusterSpec cluster_spec() const override {
    std::vector<ClusterSpec> clusters;
    for (const ClusterResolver& resolver : resolvers_) clusters.push_back(resolver.cluster_spec());
    return union_of(clusters);
  }
  std::optional<std::string> task_type() const override {
    return options_.task_type ? options_.task_type : first().task_type();
  }
  std::optional<int64_t> task_id() const override {
    return options_.task_id ? options_.task_id : first().task_id();
  }
  std::string environment() const override { return first().environment(); }
  std::string rpc_layer() const override {
    return options_.rpc_layer ? *options_.rpc_layer : first().rpc_layer();
  }
  std::map<std::string, int64_t> num_accelerators() const override {
    return first().num_accelerators();
  }
  std::string master(const std::optional<Task>& task,
                     const std::optional<std::string>& rpc_layer) const override {
    const std::string layer = rpc_layer.value_or(this->rpc_layer());
    return task ? ClusterResolverImpl::master(task, layer) : first().master({}, layer);
  }

 private:
  const ClusterResolver& first() const { return resolvers_.front(); }

  const std::vector<ClusterResolver> resolvers_;
  const UnionResolverOptions options_;
};

}  // namespace

UnionResolver::UnionResolver(const std::vector<ClusterResolver>& resolvers,
                             const UnionResolverOptions& options)
    : ClusterResolver(std::make_shared<Union>(resolvers, options)) {}

}  // namespace cornu::distribute
