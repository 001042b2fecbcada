// SPDX-License-Identifier: Apache-2.0
// How a process knows its cluster (tf.distribute.cluster_resolver). One kind of resolver a file:
// tf_config_resolver, slurm_resolver, kubernetes_resolver, mpi_resolver, environment_resolver,
// simple_resolver, union_resolver.
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

// What a resolver implements; any thread may call it. Cornu's own read all that they know when they
// are made, whose errors say what was expected: to look anew, make another one.
class ClusterResolverImpl {
 public:
  virtual ~ClusterResolverImpl() = default;

  virtual std::string name() const = 0;  // "TFConfigClusterResolver"
  // Empty: no cluster, this process trains alone.
  virtual ClusterSpec cluster_spec() const = 0;
  // The cluster asked for anew, where addresses change while a job runs; none where they don't, or
  // nobody can tell at the moment.
  virtual std::optional<ClusterSpec> renewed_cluster_spec() const { return {}; }
  virtual bool addresses_change() const { return false; }
  // What this process is; none where nothing says so.
  virtual std::optional<std::string> task_type() const = 0;
  virtual std::optional<int64_t> task_id() const = 0;
  virtual std::string environment() const { return ""; }  // "google", "cloud" or ""
  virtual std::string rpc_layer() const { return ""; }    // "grpc" or ""
  // This process's accelerators by type: {"GPU": 2}.
  virtual std::map<std::string, int64_t> num_accelerators() const;
  // The address of a task, or where the cluster is asked when `task` is none, behind "rpc_layer://"
  // unless that is "". Without a cluster: "".
  virtual std::string master(const std::optional<Task>& task,
                             const std::optional<std::string>& rpc_layer) const;
};

// A cheap handle on a resolver. A user's own: derive from ClusterResolverImpl.
class ClusterResolver : public Handle<ClusterResolverImpl> {
 public:
  ClusterResolver() = default;  // none
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
  // Type and index of this process; none where either isn't known.
  std::optional<Task> task() const;

 private:
  ClusterResolverImpl& resolver() const { return required("ClusterResolver", "a resolver"); }
};

// The resolver that this process's environment calls for: TF_CONFIG where it is set and not empty,
// else Slurm's, MPI's or torchrun's where their variables say that there are several tasks; none
// otherwise. Errors as those of the resolver.
std::optional<ClusterResolver> resolve_default(const ReadVariable& read = process_variable);

}  // namespace cornu::distribute
