// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/remote_variables.h"

#include <algorithm>

#include "framework/core/error.h"
#include "framework/core/placed_with.h"

namespace cornu::distribute {
namespace {

constexpr size_t kMaxRead = size_t{1} << 30;  // bytes of a response; messages are limited to 4 GiB

Tensor rows_of(const Tensor& value, const Placement& placement, size_t shard) {
  if (!is_divided(placement)) return value;
  return value.rows(placement[shard].rows.begin, placement[shard].rows.end);
}

// The message for each server about a variable.
std::vector<ServerCall> calls_of(const Variable& variable, const Placement& placement,
                                 const Tensor& value) {
  std::vector<ServerCall> calls;
  for (size_t i = 0; i < placement.size(); ++i) {
    const std::vector<std::string> keys = {shard_key(variable.number(), i)};
    calls.push_back(
        {placement[i].server, {Json::object({{"keys", keys}}), {rows_of(value, placement, i)}}});
  }
  return calls;
}

}  // namespace

// Splits rows as evenly as possible: the first shards have one more row if they differ.
Placement RemoteVariables::divided(const Variable& variable) {
  const Shape& shape = variable.shape();
  if (const Variable* beside = PlacedWith::current(); beside && beside->shape() == shape) {
    const std::lock_guard lock(mutex_);
    if (const auto found = placements_.find(beside->number()); found != placements_.end()) {
      return found->second;
    }
  }
  int64_t shards = partitioner_ ? partitioner_(shape, variable.dtype()) : 1;
  check<InvalidArgument>(shards >= 1,
                         "ParameterServerStrategy: expected the variable_partitioner to divide "
                         "'{}' {} into at least 1 shard, got {}.",
                         variable.name(), shape, shards);
  const int64_t rows = shape.empty() ? 1 : shape[0];
  shards = std::clamp<int64_t>(shards, 1, std::max<int64_t>(1, rows));
  Placement placement;
  int64_t begin = 0;
  const std::lock_guard lock(mutex_);
  for (int64_t i = 0; i < shards; ++i) {
    const int64_t end = begin + rows / shards + (i < rows % shards ? 1 : 0);
    placement.push_back({next_, {begin, end}});
    next_ = (next_ + 1) % servers_->count();
    begin = end;
  }
  return placement;
}

std::shared_ptr<VariableHome> RemoteVariables::add(const Variable& variable, const Tensor& value) {
  drop_forgotten();
  const Placement placement = divided(variable);
  auto home = std::make_shared<RemoteHome>(shared_from_this(), variable.number());
  servers_->call("create", calls_of(variable, placement, value.host()));
  const std::lock_guard lock(mutex_);
  placements_[variable.number()] = placement;
  return home;
}

void RemoteVariables::forget(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (auto known = placements_.extract(number)) forgotten_.insert(std::move(known));
}

void RemoteVariables::drop_forgotten() {
  std::map<uint64_t, Placement> forgotten;
  {
    const std::lock_guard lock(mutex_);
    forgotten.swap(forgotten_);
  }
  std::map<size_t, std::vector<std::string>> by_server;
  for (const auto& [number, placement] : forgotten) {
    for (size_t i = 0; i < placement.size(); ++i) {
      by_server[placement[i].server].push_back(shard_key(number, i));
    }
  }
  std::vector<ServerCall> calls;
  for (const auto& [server, keys] : by_server) {
    calls.push_back({server, {Json::object({{"keys", keys}})}});
    const std::lock_guard lock(reading_);
    cache_.forget(keys);
  }
  if (!calls.empty()) servers_->call("drop", std::move(calls));
}

Placement RemoteVariables::placement(const Variable& variable) const {
  const std::lock_guard lock(mutex_);
  const auto found = placements_.find(variable.number());
  check<FailedPrecondition>(found != placements_.end(),
                            "Variable '{}': parameter servers don't keep it, but a step that "
                            "workers run uses it. Make it within the strategy's scope.",
                            variable.path());
  return found->second;
}

std::vector<ShardPlace> RemoteVariables::places(const Variable& variable) const {
  const Placement placement = this->placement(variable);
  std::vector<ShardPlace> places;
  for (size_t i = 0; i < placement.size(); ++i) {
    places.push_back({placement[i].server, shard_key(variable.number(), i)});
  }
  return places;
}

std::vector<VariableHome::Value> RemoteVariables::read(std::span<const Variable* const> variables) {
  std::vector<VariableHome::Value> values;
  while (values.size() < variables.size()) {
    size_t count = 0;
    size_t bytes = 0;
    for (const Variable* variable : variables.subspan(values.size())) {
      bytes += variable->shape().num_bytes(size_of(variable->dtype()));
      if (count > 0 && bytes > kMaxRead) break;
      ++count;
    }
    read(variables.subspan(values.size(), count), values);
  }
  return values;
}

void RemoteVariables::read(std::span<const Variable* const> variables,
                           std::vector<VariableHome::Value>& values) {
  std::vector<ShardPlace> places;
  std::vector<size_t> counts;
  for (const Variable* variable : variables) {
    const std::vector<ShardPlace> own = this->places(*variable);
    places.insert(places.end(), own.begin(), own.end());
    counts.push_back(own.size());
  }
  const std::lock_guard lock(reading_);
  const std::vector<ShardCache::Value> shards = cache_.read(places);
  auto shard = shards.begin();
  for (size_t i = 0; i < variables.size(); ++i) {
    std::vector<Tensor> parts;
    uint64_t version = 0;
    for (size_t part = 0; part < counts[i]; ++part, ++shard) {
      parts.push_back(shard->value);
      version += static_cast<uint64_t>(shard->version);
    }
    values.push_back({joined_rows(parts, variables[i]->shape()), version});
  }
}

void RemoteVariables::write(const Variable& variable, const Tensor& value) {
  servers_->call("write", calls_of(variable, placement(variable), value));
}

}  // namespace cornu::distribute
