// SPDX-License-Identifier: Apache-2.0
// Connections of the coordinator and the workers of a job to its parameter servers.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "distribute/cluster/calls.h"
#include "distribute/parameter_server/placement.h"
#include "framework/graph/op.h"

namespace cornu::distribute {

// The location of a variable's shard: a server, and the key on that server.
struct ShardPlace {
  size_t server = 0;
  std::string key;
};

// `variable`: the variable's number.
std::string shard_key(uint64_t variable, size_t shard);

// A call to one server.
struct ServerCall {
  size_t server = 0;
  CallMessage message;
};

// Calls the servers of one job. Thread-safe. Error messages name the server, and state what its
// loss means.
class ServerLinks {
 public:
  ServerLinks(const std::vector<std::string>& addresses, std::string job,
              const CallCredentials& credentials);

  size_t count() const { return servers_.size(); }
  const std::string& job() const { return job_; }
  // Calls the same method on several servers concurrently; responses are in the order of `calls`.
  std::vector<CallMessage> call(const std::string& method, std::vector<ServerCall> calls);
  void call(const std::string& method, size_t server, CallMessage message);
  // Makes a server serve this job. Throws TaskLost when it can't be reached yet.
  void begin(size_t server);

 private:
  std::vector<std::unique_ptr<CallClient>> servers_;
  std::string job_;
};

// Values of shards with their versions; unchanged values aren't fetched again. Not thread-safe.
class ShardCache {
 public:
  explicit ShardCache(ServerLinks& servers) : servers_(servers) {}

  struct Value {
    Tensor value;
    int64_t version = -1;
  };
  // The current values of these shards, in this order; those of one server are from the same
  // moment.
  std::vector<Value> read(const std::vector<ShardPlace>& shards);
  void forget(const std::vector<std::string>& keys);
  // Forgets all but these.
  void keep(const std::set<std::string>& keys);

 private:
  ServerLinks& servers_;
  std::map<std::string, Value> known_;
};

// Concatenates rows into one array. Throws DataLoss when they don't match `shape`.
Tensor joined_rows(const std::vector<Tensor>& parts, const Shape& shape);

// Throws InvalidArgument, with a message starting with `who`, unless the tensors have these types.
void require_types(const char* who, std::span<const TensorType> types,
                   std::span<const Tensor> tensors);

}  // namespace cornu::distribute
