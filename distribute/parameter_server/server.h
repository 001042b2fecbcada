// SPDX-License-Identifier: Apache-2.0
// The process of a worker or parameter server used by a coordinator (tf.distribute.Server).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "distribute/cluster/cluster_resolver.h"

namespace cornu::distribute {

struct ServerOptions {
  // The tasks, and which one this process is. nullopt: as given by the environment (TF_CONFIG).
  std::optional<ClusterResolver> cluster = {};
  std::string job_name = {};  // "": the resolver's
  std::optional<int64_t> task_index = {};
  // Whether tasks on other machines are trusted without CORNU_JOB_TOKEN or CORNU_TLS_CERT;
  // CORNU_INSECURE=1 does the same.
  bool insecure = false;
};

// Serves the coordinator of a job (ParameterServerStrategy), on its own threads, from construction
// on: as a "worker", it runs steps; as a "ps", it keeps variables and updates them.
//
//   distribute::TFConfigClusterResolver cluster;
//   if (cluster.task_type() == "worker" || cluster.task_type() == "ps") {
//     distribute::Server({.cluster = cluster}).join();
//     return 0;
//   }
//
// A new strategy takes over: variables, steps and datasets of the previous one, whether of this
// program or of a restarted one, are gone, and the previous strategy is no longer served. Classes
// and functions that a program registers must be registered before the server is constructed.
class Server {
 public:
  // Throws InvalidArgument for a task that is neither worker nor ps, or isn't in the cluster;
  // FailedPrecondition when its port is taken, or when there are other machines but neither a token
  // nor certificates and `insecure` is false.
  explicit Server(const ServerOptions& options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns when the coordinator's program has exited with code 0. A program that failed or was
  // killed is expected to come back.
  void join();
  std::string target() const;  // "grpc://host:port"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cornu::distribute
