// SPDX-License-Identifier: Apache-2.0
// How a process learns about its cluster (tf.distribute.cluster_resolver). Each kind of resolver
// has its own file: tf_config_resolver, slurm_resolver, kubernetes_resolver, mpi_resolver,
// environment_resolver, simple_resolver, union_resolver.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "distribute/cluster/cluster_spec.h"
#include "distribute/cluster/environment.h"
#include "framework/core/handle.h"

namespace cornu::distribute {

// Interface that resolvers implement; methods may be called from any thread. Cornu's own resolvers
// read everything in their constructors, whose errors state what was expected. To look again,
// construct another resolver.
class ClusterResolverImpl {
 public:
  virtual ~ClusterResolverImpl() = default;

  virtual std::string name() const = 0;  // "TFConfigClusterResolver"
  // Empty when there is no cluster and this process trains alone.
  virtual ClusterSpec cluster_spec() const = 0;
  // Looks up the cluster again, for clusters whose addresses change while a job runs. Returns
  // nullopt if they don't change or can't be determined at the moment.
  virtual std::optional<ClusterSpec> renewed_cluster_spec() const { return {}; }
  virtual bool addresses_change() const { return false; }
  // This process's task type and index; nullopt when unknown.
  virtual std::optional<std::string> task_type() const = 0;
  virtual std::optional<int64_t> task_id() const = 0;
  virtual std::string environment() const { return ""; }  // "google", "cloud" or ""
  virtual std::string rpc_layer() const { return ""; }    // "grpc" or ""
  // This process's accelerators by type, e.g. {"GPU": 2}.
  virtual std::map<std::string, int64_t> num_accelerators() const;
  // The address of `task`, or of the cluster's master when `task` is nullopt, prefixed with
  // "rpc_layer://" unless the RPC layer is "". Returns "" without a cluster.
  virtual std::string master(const std::optional<Task>& task,
                             const std::optional<std::string>& rpc_layer) const;
};

// A cheap handle to a resolver. To write your own, derive from ClusterResolverImpl.
class ClusterResolver : public Handle<ClusterResolverImpl> {
 public:
  ClusterResolver() = default;  // empty handle
  explicit ClusterResolver(std::shared_ptr<ClusterResolverImpl> impl) : Handle(std::move(impl)) {}

  std::string name() const { return resolver().name(); }
  ClusterSpec cluster_spec() const { return resolver().cluster_spec(); }
  std::optional<ClusterSpec> renewed_cluster_spec() const {
    return resolver().renewed_cluster_spec();
  }
  bool addresses_change() const { return resolver().addresses_change(); }
  std::optional<std::string> task_type() const { return resolver().task_type(); }
  std::optional<int64_t> task_id() const { return resolver().task_id(); }
  std::string environment() const { return resolver().environment(); }
  std::string rpc_layer() const { return resolver().rpc_layer(); }
  std::map<std::string, int64_t> num_accelerators() const { return resolver().num_accelerators(); }
  std::string master(const std::optional<Task>& task = {},
                     const std::optional<std::string>& rpc_layer = {}) const {
    return resolver().master(task, rpc_layer);
  }
  // Type and index of this process; nullopt when either is unknown.
  std::optional<Task> task() const;

 private:
  ClusterResolverImpl& resolver() const { return required("ClusterResolver", "a resolver"); }
};

// Returns the resolver that matches this process's environment: TF_CONFIG if it is set and not
// empty, otherwise Slurm's, MPI's or torchrun's if their variables describe several tasks; nullopt
// otherwise. Throws the resolver's errors.
std::optional<ClusterResolver> resolve_default(const ReadVariable& read = process_variable);

}  // namespace cornu::distribute
