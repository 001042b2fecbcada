// SPDX-License-Identifier: Apache-2.0
// Base of most resolvers: everything is known at construction.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct FixedCluster {
  std::string name;  // of the resolver
  ClusterSpec cluster = {};
  std::optional<std::string> task_type = {};
  std::optional<int64_t> task_id = {};
  std::string environment = {};
  std::string rpc_layer = {};
  std::optional<std::map<std::string, int64_t>> num_accelerators =
      {};  // nullopt: this process's own
};

class FixedResolver : public ClusterResolverImpl {
 public:
  explicit FixedResolver(FixedCluster known) : known_(std::move(known)) {}

  std::string name() const override { return known_.name; }
  ClusterSpec cluster_spec() const override { return known_.cluster; }
  std::optional<std::string> task_type() const override { return known_.task_type; }
  std::optional<int64_t> task_id() const override { return known_.task_id; }
  std::string environment() const override { return known_.environment; }
  std::string rpc_layer() const override { return known_.rpc_layer; }
  std::map<std::string, int64_t> num_accelerators() const override {
    return known_.num_accelerators ? *known_.num_accelerators
                                   : ClusterResolverImpl::num_accelerators();
  }

 protected:
  const FixedCluster known_;
};

}  // namespace cornu::distribute
