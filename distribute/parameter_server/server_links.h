// SPDX-License-Identifier: Apache-2.0
// A job's parameter servers, as its coordinator and its workers reach them.
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

// A shard of a variable on a server, by its key there.
struct ShardPlace {
  size_t server = 0;
  std::string key;
};

// `variable`: its number.
std::string shard_key(uint64_t variable, size_t shard);

// A call of one server.
struct ServerCall {
  size_t server = 0;
  CallMessage message;
};

// Calls of the servers of one job. Thread-safe. Errors say which server, and what its loss means.
class ServerLinks {
 public:
  ServerLinks(const std::vector<std::string>& addresses, std::string job,
              const CallCredentials& credentials);

  size_t count() const { return servers_.size(); }
  const std::string& job() const { return job_; }
  // The same method of several servers, at once; the answers in this order.
  std::vector<CallMessage> call(const std::string& method, std::vector<ServerCall> calls);
  void call(const std::string& method, size_t server, CallMessage message);
  // Makes a server serve this job. TaskLost: it can't be reached yet.
  void begin(size_t server);

 private:
  std::vector<std::unique_ptr<CallClient>> servers_;
  std::string job_;
};

// Values of shards, with their versions; those that are unchanged aren't fetched anew. Used by one
// thread at a time.
class ShardCache {
 public:
  explicit ShardCache(ServerLinks& servers) : servers_(servers) {}

  struct Value {
    Tensor value;
    int64_t version = -1;
  };
  // Of these shards now, in this order; of one server all of one moment.
  std::vector<Value> read(const std::vector<ShardPlace>& shards);
  void forget(const std::vector<std::string>& keys);
  // All but these.
  void keep(const std::set<std::string>& keys);

 private:
  ServerLinks& servers_;
  std::map<std::string, Value> known_;
};

// One array of the rows of all. DataLoss where they aren't these.
Tensor joined_rows(const std::vector<Tensor>& parts, const Shape& shape);

// InvalidArgument, beginning with `who`, unless tensors have these types.
void require_types(const char* who, std::span<const TensorType> types,
                   std::span<const Tensor> tensors);

}  // namespace cornu::distribute
