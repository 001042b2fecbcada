// SPDX-License-Identifier: Apache-2.0
// The process of a worker or parameter server that a coordinator uses (tf.distribute.Server).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct ServerOptions {
  // Who the tasks are, and which one this process is. None: what the environment says (TF_CONFIG).
  std::optional<ClusterResolver> cluster = {};
  std::string job_name = {};  // "": the resolver's
  std::optional<int64_t> task_index = {};
  // Whether tasks on other machines are trusted without CORNU_JOB_TOKEN or CORNU_TLS_CERT;
  // CORNU_INSECURE=1 does the same.
  bool insecure = false;
};

// Serves the coordinator of a job (ParameterServerStrategy) from the moment it is made, on threads
// of its own: as "worker", it runs steps; as "ps", it keeps variables and updates them.
//
//   distribute::TFConfigClusterResolver cluster;
//   if (cluster.task_type() == "worker" || cluster.task_type() == "ps") {
//     distribute::Server({.cluster = cluster}).join();
//     return 0;
//   }
//
// A strategy that begins takes over: variables, steps and datasets of the one before, of this
// program or one that was started again, are gone, and the one before isn't served any more.
// Classes and functions that a program registers have to be registered before.
class Server {
 public:
  // InvalidArgument for a task that is no worker and no ps, or isn't in the cluster;
  // FailedPrecondition when its port is taken, or when there are other machines, no token, no
  // certificates, and not `insecure`.
  explicit Server(const ServerOptions& options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns when the coordinator's program has ended with code 0. One that failed or was killed is
  // expected back.
  void join();
  std::string target() const;  // "grpc://host:port"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cornu::distribute
