// SPDX-License-Identifier: Apache-2.0
// Variables kept by parameter servers, as the coordinator's process reads and writes them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "distribute/parameter_server/partitioners.h"
#include "distribute/parameter_server/placement.h"
#include "distribute/parameter_server/server_links.h"

namespace cornu::distribute {

// Thread-safe.
class RemoteVariables : public std::enable_shared_from_this<RemoteVariables> {
 public:
  // Without a partitioner, variables are kept whole.
  RemoteVariables(std::shared_ptr<ServerLinks> servers, Partitioner partitioner)
      : servers_(std::move(servers)), partitioner_(std::move(partitioner)) {}

  // Assigns a new variable's shards to the servers in turn, replacing those of destroyed variables.
  // Destroying the returned home reports that the variable is gone. Throws InvalidArgument when the
  // partitioner returns less than 1.
  std::shared_ptr<VariableHome> add(const Variable& variable, const Tensor& value);
  // Throws FailedPrecondition for a variable that wasn't added here.
  Placement placement(const Variable& variable) const;
  std::vector<ShardPlace> places(const Variable& variable) const;

  // Reads all shards, in one call per server unless they are very large. Shards on different
  // servers may be from different moments.
  std::vector<VariableHome::Value> read(std::span<const Variable* const> variables);
  void write(const Variable& variable, const Tensor& value);

 private:
  friend class RemoteHome;

  void read(std::span<const Variable* const> variables, std::vector<VariableHome::Value>& values);
  Placement divided(const Variable& variable);
  void forget(uint64_t number);
  void drop_forgotten();

  const std::shared_ptr<ServerLinks> servers_;
  const Partitioner partitioner_;
  mutable std::mutex mutex_;  // guards all members below
  size_t next_ = 0;           // server of the next shard
  std::map<uint64_t, Placement> placements_;
  std::map<uint64_t, Placement> forgotten_;  // still kept by the servers
  std::mutex reading_;
  ShardCache cache_{*servers_};
};

// The home of one variable. Destroyed with the variable, on whatever thread; the servers drop its
// shards later.
class RemoteHome : public VariableHome {
 public:
  RemoteHome(std::shared_ptr<RemoteVariables> all, uint64_t number)
      : all_(std::move(all)), number_(number) {}
  ~RemoteHome() override { all_->forget(number_); }
  RemoteHome(const RemoteHome&) = delete;
  RemoteHome& operator=(const RemoteHome&) = delete;

  const RemoteVariables& all() const { return *all_; }
  const void* keeper() const override { return all_.get(); }
  std::vector<Value> read(std::span<const Variable* const> variables) override {
    return all_->read(variables);
  }
  void write(const Variable& variable, const Tensor& value) override {
    all_->write(variable, value);
  }

 private:
  const std::shared_ptr<RemoteVariables> all_;
  const uint64_t number_;
};

}  // namespace cornu::distribute
