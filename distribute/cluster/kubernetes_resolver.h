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
  // Which pods are of which job: label selectors, like "app=mnist,role=worker". A job has the pods
  // of its selectors in this order, those of one selector by their names, "w-2" before "w-10".
  std::map<std::string, std::vector<std::string>> job_to_label_mapping = {
      {"worker", {"job-name=tensorflow"}}};
  int64_t tf_server_port = 8470;  // where every task listens
  std::string rpc_layer = "grpc";
  std::optional<std::string> namespace_name = {};  // none: the service account's
  // This pod's name. None: the environment variable POD_NAME, else HOSTNAME.
  std::optional<std::string> pod_name = {};
  // None: https://KUBERNETES_SERVICE_HOST:KUBERNETES_SERVICE_PORT, as every pod knows it. With
  // `kubectl proxy`: http://127.0.0.1:8001. The token is sent over https and to loopback only.
  std::optional<std::string> api_server = {};
  // Files "token", "ca.crt" and "namespace" that Kubernetes puts into every pod.
  std::filesystem::path service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
  ReadVariable read = process_variable;
};

// The pods that have certain labels, as Kubernetes's API server lists them when the resolver is
// made (tf.distribute.cluster_resolver.KubernetesClusterResolver). The pod's service account must
// be allowed to list pods. This process's task is its pod's, where that is one of them. While
// MultiWorkerMirroredStrategy waits for worker 0, the server is asked again every few seconds: a
// pod that was started again has another address.
//
// FailedPrecondition outside of a pod, and where listing isn't allowed; Unavailable where the
// server can't be reached or refuses, and while a pod isn't running yet (make another resolver
// later); NotFound when a selector finds no pod; DataLoss when the answer can't be read.
class KubernetesClusterResolver : public ClusterResolver {
 public:
  explicit KubernetesClusterResolver(const KubernetesClusterResolverOptions& options = {});
};

}  // namespace cornu::distribute
