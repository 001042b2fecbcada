// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/parameter_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "distribute/parameter_server/server_links.h"
#include "framework/core/error.h"
#include "framework/core/variable_access.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/portable.h"

namespace cornu::distribute {
namespace {

const Device kHost{};

std::vector<std::string> keys_of(const CallMessage& request, size_t tensors) {
  const std::vector<std::string> keys = request.json.at("keys").as_strings();
  check<InvalidArgument>(keys.size() == tensors,
                         "Parameter server: expected a value for each of {} shards, got {}.",
                         keys.size(), tensors);
  return keys;
}

}  // namespace

CallMessage ParameterStore::handle(const std::string& method, const CallMessage& request) {
  if (method == "read") return read(request);
  if (method == "rows") return rows(request);
  if (method == "create") {
    create(request);
  } else if (method == "write") {
    write(request);
  } else if (method == "define") {
    define(request);
  } else if (method == "update") {
    update(request);
  } else if (method == "drop") {
    drop(request);
  } else {
    raise<NotFound>("Parameter server: there is no call '{}'.", method);
  }
  return {};
}

Variable ParameterStore::shard(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = shards_.find(key);
  check<NotFound>(found != shards_.end(), "Parameter server: it keeps no '{}'.", key);
  return found->second;
}

void ParameterStore::create(const CallMessage& request) {
  const std::vector<std::string> keys = keys_of(request, request.tensors.size());
  const DeviceScope here(kHost);
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < keys.size(); ++i) {
    shards_.insert_or_assign(keys[i], Variable(request.tensors[i], {.name = keys[i]}));
  }
}

// All values are from the same moment, between two updates.
CallMessage ParameterStore::read(const CallMessage& request) {
  const std::vector<std::string> keys = request.json.at("keys").as_strings();
  const std::vector<int64_t> known = request.json.at("versions").as_ints();
  check<InvalidArgument>(known.size() == keys.size(),
                         "Parameter server: expected {} versions, got {}.", keys.size(),
                         known.size());
  std::vector<Variable> variables;
  for (const std::string& key : keys) variables.push_back(shard(key));
  VariableAccess access;
  access.reserve(variables.size());
  for (const Variable& variable : variables) access.add(variable, false);
  access.acquire();
  CallMessage answer;
  std::vector<int64_t> versions;
  for (size_t i = 0; i < variables.size(); ++i) {
    versions.push_back(static_cast<int64_t>(access.version(i)));
    if (versions[i] != known[i]) answer.tensors.push_back(access.value(i));
  }
  answer.json.set("versions", versions);
  return answer;
}

CallMessage ParameterStore::rows(const CallMessage& request) {
  const Variable table = shard(request.json.at("key").as_string());
  const std::lock_guard no_update(updating_);
  const Tensor value = table.stored();
  check<InvalidArgument>(
      value.rank() > 0 && request.tensors.size() == 1,
      "Parameter server: expected numbers of rows of an array, got {} tensors for one of shape {}.",
      request.tensors.size(), value.shape());
  const auto numbers = request.tensors.front().data<int64_t>();
  const size_t row = value.shape().slice(1).num_bytes(size_of(value.dtype()));
  const Shape shape = Shape({static_cast<int64_t>(numbers.size())}).concat(value.shape().slice(1));
  Tensor rows = Tensor::empty(shape, value.dtype());
  std::byte* to = rows.mutable_raw();
  for (const int64_t number : numbers) {
    check<OutOfRange>(number >= 0 && number < value.dim(0),
                      "Parameter server: row {} of {} was asked for.", number, value.dim(0));
    std::memcpy(to, value.raw() + static_cast<size_t>(number) * row, row);
    to += row;
  }
  return {Json::object(), {rows}};
}

void ParameterStore::write(const CallMessage& request) {
  const std::vector<std::string> keys = keys_of(request, request.tensors.size());
  for (size_t i = 0; i < keys.size(); ++i) shard(keys[i]).assign(request.tensors[i]);
}

void ParameterStore::define(const CallMessage& request) {
  Graph graph = from_portable({request.json.at("graph").as_string(), request.tensors});
  auto update = std::make_shared<Update>();
  for (const std::string& key : request.json.at("keys").as_strings()) {
    update->states.push_back(shard(key));
  }
  check<InvalidArgument>(update->states.size() == graph.states.size(),
                         "Parameter server: expected a graph of {} states, got {}.",
                         update->states.size(), graph.states.size());
  for (size_t i = 0; i < graph.states.size(); ++i) {
    const Variable& variable = graph.states[i].variable = update->states[i];
    const TensorType type{variable.dtype(), variable.shape()};
    check<InvalidArgument>(
        graph.type(graph.states[i].in) == type,
        "Parameter server: '{}' is {} {}, and the graph takes {} {}.", variable.name(), type.dtype,
        type.shape, graph.type(graph.states[i].in).dtype, graph.type(graph.states[i].in).shape);
  }
  for (const ValueId input : graph.inputs) update->inputs.push_back(graph.type(input));
  computing_.run([&] {
    update->executable =
        backend_for(kHost).compile(std::move(graph), {.name = "update", .device = kHost});
  });
  const std::lock_guard lock(mutex_);
  updates_.insert_or_assign(request.json.at("update").as_int(), std::move(update));
}

void ParameterStore::update(const CallMessage& request) {
  std::shared_ptr<Update> update;
  {
    const std::lock_guard lock(mutex_);
    const auto found = updates_.find(request.json.at("update").as_int());
    check<NotFound>(found != updates_.end(), "Parameter server: it knows no such update.");
    update = found->second;
  }
  require_types("Parameter server", update->inputs, request.tensors);
  const int64_t step = request.json.at("step").as_int();
  const int64_t over = request.json.at("over").as_int();
  computing_.run([&] {
    if (!begin_step(step, over)) return;
    Launch launch{.executable = update->executable.get(),
                  .device = kHost,
                  .inputs = request.tensors,
                  .variables = update->states,
                  .outputs = {}};
    const std::lock_guard no_reader(updating_);
    backend_for(kHost).run({&launch, 1});
  });
}

// Returns false if the step has updated already, or is over.
bool ParameterStore::begin_step(int64_t step, int64_t over) {
  over_ = std::max(over_, over);
  updated_by_.erase(updated_by_.begin(), updated_by_.lower_bound(over_));
  return step >= over_ && updated_by_.insert(step).second;
}

void ParameterStore::drop(const CallMessage& request) {
  std::vector<std::shared_ptr<Update>> updates;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  if (const Json* keys = request.json.find("keys")) {
    for (const std::string& key : keys->as_strings()) shards_.erase(key);
  }
  if (const Json* numbers = request.json.find("updates")) {
    for (const int64_t number : numbers->as_ints()) {
      if (auto found = updates_.extract(number)) updates.push_back(std::move(found.mapped()));
    }
  }
}

}  // namespace cornu::distribute
