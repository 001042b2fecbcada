// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct KubernetesClusterResolverOptions {
  // Label selectors for the pods of each job, e.g. "app=mnist,role=worker". A job's pods are in the
  // order of its selectors, and those of one selector are ordered by name, "w-2" before "w-10".
  std::map<std::string, std::vector<std::string>> job_to_label_mapping = {
      {"worker", {"job-name=tensorflow"}}};
  int64_t tf_server_port = 8470;  // port that every task listens on
  std::string rpc_layer = "grpc";
  std::optional<std::string> namespace_name = {};  // nullopt: the service account's
  // This pod's name. nullopt: the environment variable POD_NAME, else HOSTNAME.
  std::optional<std::string> pod_name = {};
  // nullopt: https://KUBERNETES_SERVICE_HOST:KUBERNETES_SERVICE_PORT, which are set in every pod.
  // With `kubectl proxy`: http://127.0.0.1:8001. The token is only sent over https and to loopback
  // addresses.
  std::optional<std::string> api_server = {};
  // Directory with the files "token", "ca.crt" and "namespace" that Kubernetes puts into every pod.
  std::filesystem::path service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
  ReadVariable read = process_variable;
};

// Resolves the pods with certain labels, as listed by Kubernetes's API server when the resolver is
// constructed (tf.distribute.cluster_resolver.KubernetesClusterResolver). The pod's service account
// must be allowed to list pods. This process's task is its own pod, if that is one of them. While
// MultiWorkerMirroredStrategy waits for worker 0, it queries the server again every few seconds,
// because a restarted pod has a different address.
//
// Throws FailedPrecondition outside of a pod or when listing isn't allowed; Unavailable when the
// server can't be reached or refuses, or while a pod isn't running yet (construct another resolver
// later); NotFound when a selector matches no pod; DataLoss when the response can't be parsed.
class KubernetesClusterResolver : public ClusterResolver {
 public:
  explicit KubernetesClusterResolver(const KubernetesClusterResolverOptions& options = {});
};

}  // namespace cornu::distribute
