// SPDX-License-Identifier: Apache-2.0
// Variables that parameter servers keep, as the coordinator's process reads and writes them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "distribute/parameter_server/partitioners.h"
#include "distribute/parameter_server/placement.h"
#include "distribute/parameter_server/server_links.h"

namespace cornu::distribute {

// Thread-safe.
class RemoteVariables : public VariableHome {
 public:
  // No partitioner: variables are kept whole.
  RemoteVariables(std::shared_ptr<ServerLinks> servers, Partitioner partitioner)
      : servers_(std::move(servers)), partitioner_(std::move(partitioner)) {}

  // Gives a new variable's shards to the servers in turn. InvalidArgument for a partitioner that
  // says less than 1.
  void add(const Variable& variable, const Tensor& value);
  // FailedPrecondition for a variable that isn't one of these.
  Placement placement(const Variable& variable) const;
  std::vector<ShardPlace> places(const Variable& variable) const;

  // All shards; of several servers they may be of different moments.
  Value read(const Variable& variable) override;
  void write(const Variable& variable, const Tensor& value) override;

 private:
  Placement divided(const Variable& variable);

  const std::shared_ptr<ServerLinks> servers_;
  const Partitioner partitioner_;
  mutable std::mutex mutex_;  // guards all that follows
  size_t next_ = 0;           // the server that gets the next shard
  std::map<uint64_t, Placement> placements_;
  std::mutex reading_;
  ShardCache cache_{*servers_};
};

}  // namespace cornu::distribute
