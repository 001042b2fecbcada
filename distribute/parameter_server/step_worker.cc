// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/step_worker.h"

#include <utility>

#include "distribute/parameter_server/taken_rows.h"
#include "framework/core/error.h"
#include "framework/graph/devices.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/portable.h"

namespace cornu::distribute {

std::string step_signature(int64_t function, const std::vector<Tensor>& arguments) {
  std::string signature = std::to_string(function);
  for (const Tensor& tensor : arguments) {
    signature += fmt::format(" {}{}", tensor.dtype(), tensor.shape());
  }
  return signature;
}

namespace {

std::vector<ShardPlace> shards_of(const Json& variable) {
  std::vector<ShardPlace> shards;
  for (const Json& shard : variable.at("shards").as_array()) {
    shards.push_back({static_cast<size_t>(shard[0].as_int()), std::string(shard[1].as_string())});
  }
  return shards;
}

// What it gives, on the host.
std::vector<Tensor> run_on(const Device& device, Executable& executable,
                           std::vector<Tensor> inputs) {
  backend_for(device).bring(inputs, device);
  Launch launch{.executable = &executable,
                .device = device,
                .inputs = inputs,
                .variables = {},
                .outputs = {}};
  backend_for(device).run({&launch, 1});
  std::vector<Tensor> outputs;
  for (const Tensor& output : launch.outputs) outputs.push_back(output.host());
  return outputs;
}

}  // namespace

// The worker's part of a step, and whom it hears and tells.
struct StepWorker::Step {
  struct Read {
    std::vector<ShardPlace> shards;
    Shape shape;
  };
  struct Update {
    size_t server = 0;
    int64_t number = 0;
    std::vector<int64_t> sent;  // outputs
  };
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Executable> ahead;  // null: it takes no rows
  Device device;
  bool has_key = false;
  std::vector<Tensor> values;  // of the replica
  std::vector<Read> read;
  struct Taken {
    RowSource source;
    size_t indices = 0;
  };
  std::vector<Taken> taken;
  std::vector<Update> updates;
  size_t results = 0;
};

StepWorker::StepWorker(const std::vector<std::string>& servers, const std::string& job,
                       const CallCredentials& credentials)
    : servers_(servers, job, credentials) {}

// On one thread: what a job does is one thing after the other.
CallMessage StepWorker::handle(const std::string& method, const CallMessage& request) {
  CallMessage answer;
  computing_.run([&] {
    if (method == "run") {
      answer = run(request);
    } else if (method == "define") {
      define(request);
    } else if (method == "dataset") {
      make_dataset(request);
    } else {
      raise<NotFound>("Worker: it has no call '{}'.", method);
    }
  });
  return answer;
}

void StepWorker::define(const CallMessage& request) {
  const Json& json = request.json;
  auto step = std::make_shared<Step>();
  step->device = default_device();
  step->has_key = json.at("has_key").as_bool();
  for (const Json& value : json.at("values").as_array()) {
    step->values.push_back(Tensor::scalar(value.as_int()));
  }
  for (const Json& sum : json.at("sums").as_array()) {
    step->values.push_back(Tensor::scalar(sum.as_double()));
  }
  for (const Json& variable : json.at("read").as_array()) {
    step->read.push_back({shards_of(variable), variable.at("shape").as_shape()});
  }
  for (const Json& variable : json.at("taken").as_array()) {
    step->taken.push_back(
        {{shards_of(variable), variable.at("ends").as_ints(), variable.at("shape").as_shape(),
          dtype_from_string(variable.at("dtype").as_string())},
         static_cast<size_t>(variable.at("indices").as_int())});
  }
  for (const Json& update : json.at("updates").as_array()) {
    step->updates.push_back({static_cast<size_t>(update.at("server").as_int()),
                             update.at("update").as_int(), update.at("sent").as_ints()});
  }
  step->results = static_cast<size_t>(json.at("results").as_int());
  const auto constants = request.tensors.begin() + json.at("constants").as_int();
  const auto compiled = [&](const char* key, std::vector<Tensor> own) {
    return backend_for(step->device)
        .compile(from_portable({json.at(key).as_string(), std::move(own)}),
                 {.name = key, .device = step->device});
  };
  step->executable = compiled("graph", {request.tensors.begin(), constants});
  if (!step->taken.empty()) step->ahead = compiled("ahead", {constants, request.tensors.end()});
  steps_.insert_or_assign(json.at("signature").as_string(), std::move(step));
}

void StepWorker::make_dataset(const CallMessage& request) {
  check<InvalidArgument>(request.tensors.size() == 1,
                         "Worker: expected a dataset's bytes, got {} tensors.",
                         request.tensors.size());
  const Tensor& bytes = request.tensors.front();
  Batches batches;
  batches.source = read_batch_source(
      {reinterpret_cast<const char*>(bytes.raw()), static_cast<size_t>(bytes.bytes())});
  batches.iterator = batches.source->iterate();
  datasets_[request.json.at("dataset").as_int()] = std::move(batches);
}

std::vector<Tensor> StepWorker::arguments_of(const CallMessage& request, Batches*& batches) {
  const Json& dataset = request.json.at("dataset");
  if (dataset.is_null()) return {request.tensors.begin(), request.tensors.end() - 1};
  const auto found = datasets_.find(dataset.as_int());
  check<NotFound>(found != datasets_.end(), "Worker: it has no dataset {}.", dataset.as_int());
  batches = &found->second;
  if (batches->held && request.json.at("held").as_bool()) {
    return *std::exchange(batches->held, std::nullopt);
  }
  Batch batch;
  check<OutOfRange>(batches->iterator->next(batch),
                    "ClusterCoordinator: a worker's dataset has ended. Repeat it, or schedule as "
                    "many steps as it has batches.");
  std::vector<Tensor> arguments;
  for (const Tensors* part : {&batch.x, &batch.y, &batch.sample_weight}) {
    for (const Tensor& tensor : *part) arguments.push_back(tensor);
  }
  return arguments;
}

CallMessage StepWorker::run(const CallMessage& request) {
  check<InvalidArgument>(!request.tensors.empty(), "Worker: expected a key, got no tensor.");
  Batches* batches = nullptr;
  std::vector<Tensor> arguments = arguments_of(request, batches);
  const std::string signature = step_signature(request.json.at("function").as_int(), arguments);
  const auto found = steps_.find(signature);
  if (found == steps_.end()) {
    Json types = Json::array();
    for (const Tensor& tensor : arguments) {
      types.push_back(Json::array({to_string(tensor.dtype()), tensor.shape()}));
    }
    if (batches) batches->held = std::move(arguments);
    return {Json::object({{"needs", types}})};
  }
  return {Json::object({{"signature", signature}}),
          run_step(*found->second, std::move(arguments), request.tensors.back())};
}

std::vector<Tensor> StepWorker::run_step(const Step& step, std::vector<Tensor> inputs,
                                         const Tensor& key) {
  if (step.has_key) inputs.push_back(key);
  inputs.insert(inputs.end(), step.values.begin(), step.values.end());
  std::vector<Tensor> values = read(step);
  if (step.ahead) {
    const std::vector<Tensor> indices = run_on(step.device, *step.ahead, inputs);
    std::vector<RowRequest> requests;
    for (const Step::Taken& taken : step.taken) {
      requests.push_back({&taken.source, indices.at(taken.indices)});
    }
    const std::vector<Tensor> rows = take_rows(servers_, requests);
    values.insert(values.end(), rows.begin(), rows.end());
  }
  inputs.insert(inputs.end(), values.begin(), values.end());
  std::vector<Tensor> outputs = run_on(step.device, *step.executable, std::move(inputs));
  send(step, outputs);
  outputs.resize(step.results);
  return outputs;
}

std::vector<Tensor> StepWorker::read(const Step& step) {
  std::vector<ShardPlace> shards;
  for (const Step::Read& read : step.read) {
    shards.insert(shards.end(), read.shards.begin(), read.shards.end());
  }
  const std::vector<ShardCache::Value> found = shards_.read(shards);
  auto value = found.begin();
  std::vector<Tensor> values;
  for (const Step::Read& read : step.read) {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < read.shards.size(); ++i) parts.push_back((value++)->value);
    values.push_back(joined_rows(parts, read.shape));
  }
  return values;
}

void StepWorker::send(const Step& step, const std::vector<Tensor>& outputs) {
  std::vector<ServerCall> calls;
  for (const Step::Update& update : step.updates) {
    ServerCall& call = calls.emplace_back();
    call.server = update.server;
    call.message.json.set("update", update.number);
    for (const int64_t output : update.sent) {
      call.message.tensors.push_back(outputs.at(static_cast<size_t>(output)));
    }
  }
  if (!calls.empty()) servers_.call("update", std::move(calls));
}

}  // namespace cornu::distribute
