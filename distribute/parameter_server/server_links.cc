// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/server_links.h"

#include <cstring>
#include <map>
#include <utility>

#include "framework/core/error.h"

namespace cornu::distribute {

std::string shard_key(uint64_t variable, size_t shard) {
  return fmt::format("{}/{}", variable, shard);
}

ServerLinks::ServerLinks(const std::vector<std::string>& addresses, std::string job,
                         const CallCredentials& credentials)
    : job_(std::move(job)) {
  for (const std::string& address : addresses) {
    servers_.push_back(std::make_unique<CallClient>(address, credentials));
  }
}

std::vector<CallMessage> ServerLinks::call(const std::string& method,
                                           std::vector<ServerCall> calls) {
  std::vector<std::future<CallMessage>> pending;
  for (ServerCall& call : calls) {
    check<InvalidArgument>(call.server < servers_.size(), "There is no parameter server {}.",
                           call.server);
    call.message.json.set("job", job_);
    pending.push_back(servers_[call.server]->start(method, call.message));
  }
  std::vector<CallMessage> answers;
  std::exception_ptr first;
  for (size_t i = 0; i < pending.size(); ++i) {  // all of them must finish before returning
    try {
      answers.push_back(pending[i].get());
    } catch (const TaskLost& lost) {
      if (first) continue;
      first = std::make_exception_ptr(Unavailable(
          fmt::format("Parameter server {} is lost, and with it the values of the variables that "
                      "it kept. Start the job again, from its last checkpoint. {}",
                      calls[i].server, lost.what())));
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
  return answers;
}

void ServerLinks::call(const std::string& method, size_t server, CallMessage message) {
  std::vector<ServerCall> calls;
  calls.push_back({server, std::move(message)});
  call(method, std::move(calls));
}

void ServerLinks::begin(size_t server) {
  servers_.at(server)->call("begin", {Json::object({{"job", job_}, {"type", "ps"}})});
}

std::vector<ShardCache::Value> ShardCache::read(const std::vector<ShardPlace>& shards) {
  struct Asked {
    std::vector<std::string> keys;
    std::vector<int64_t> versions;
  };
  std::map<size_t, Asked> by_server;
  for (const ShardPlace& shard : shards) {
    Asked& asked = by_server[shard.server];
    asked.keys.push_back(shard.key);
    asked.versions.push_back(known_[shard.key].version);
  }
  std::vector<ServerCall> calls;
  for (const auto& [server, asked] : by_server) {
    calls.push_back({server, {Json::object({{"keys", asked.keys}, {"versions", asked.versions}})}});
  }
  const std::vector<CallMessage> answers = servers_.call("read", std::move(calls));
  auto answer = answers.begin();
  for (const auto& [server, asked] : by_server) {
    const std::vector<int64_t> versions = answer->json.at("versions").as_ints();
    check<DataLoss>(versions.size() == asked.keys.size(),
                    "Parameter server {}: expected {} versions, got {}.", server, asked.keys.size(),
                    versions.size());
    auto value = answer->tensors.begin();
    for (size_t i = 0; i < asked.keys.size(); ++i) {
      if (versions[i] == asked.versions[i]) continue;
      check<DataLoss>(value != answer->tensors.end(),
                      "Parameter server {}: expected a value for '{}', got none.", server,
                      asked.keys[i]);
      known_[asked.keys[i]] = {*value++, versions[i]};
    }
    ++answer;
  }
  std::vector<Value> values;
  for (const ShardPlace& shard : shards) values.push_back(known_.at(shard.key));
  return values;
}

void ShardCache::forget(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) known_.erase(key);
}

void ShardCache::keep(const std::set<std::string>& keys) {
  std::erase_if(known_, [&](const auto& known) { return !keys.contains(known.first); });
}

Tensor joined_rows(const std::vector<Tensor>& parts, const Shape& shape) {
  const DType dtype = parts.front().dtype();
  size_t bytes = 0;
  for (const Tensor& part : parts) {
    bytes += part.bytes();
    check<DataLoss>(part.dtype() == dtype, "Parameter servers: expected shards of {}, got {}.",
                    dtype, part.dtype());
  }
  check<DataLoss>(bytes == shape.num_bytes(size_of(dtype)),
                  "Parameter servers: expected shards of {} bytes in all, got {}.",
                  shape.num_bytes(size_of(dtype)), bytes);
  if (parts.size() == 1) return parts.front().with_shape(shape);
  Tensor whole = Tensor::empty(shape, dtype);
  std::byte* place = whole.mutable_raw();
  for (const Tensor& part : parts) {
    if (part.bytes() > 0) std::memcpy(place, part.raw(), part.bytes());
    place += part.bytes();
  }
  return whole;
}

void require_types(const char* who, std::span<const TensorType> types,
                   std::span<const Tensor> tensors) {
  check<InvalidArgument>(types.size() == tensors.size(), "{}: expected {} inputs, got {}.", who,
                         types.size(), tensors.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const TensorType type = type_of(tensors[i]);
    check<InvalidArgument>(type == types[i], "{}: expected {} {} as input {}, got {} {}.", who,
                           types[i].dtype, types[i].shape, i, type.dtype, type.shape);
  }
}

}  // namespace cornu::distribute
