// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/step_worker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "distribute/parameter_server/taken_rows.h"
#include "framework/core/error.h"
#include "framework/graph/devices.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/graph/portable.h"

namespace cornu::distribute {

std::string step_signature(int64_t function, const std::vector<Tensors>& arguments) {
  std::string signature = std::to_string(function);
  for (const Tensors& argument : arguments) {
    signature += " (";
    for (size_t i = 0; i < argument.size(); ++i) {
      const Tensor& tensor = argument[i];
      if (argument.has_names()) signature += fmt::format("'{}' ", argument.names()[i]);
      signature +=
          tensor.defined() ? fmt::format("{}{} ", tensor.dtype(), tensor.shape()) : "none ";
    }
    signature += ")";
  }
  return signature;
}

std::vector<Tensors> arguments_of(const Batch& batch) {
  std::vector<Tensors> arguments;
  for (const Tensors* part : {&batch.x, &batch.y, &batch.sample_weight}) {
    if (!part->empty()) arguments.push_back(*part);
  }
  return arguments;
}

namespace {

std::vector<ShardPlace> shards_of(const Json& variable) {
  std::vector<ShardPlace> shards;
  for (const Json& shard : variable.at("shards").as_array()) {
    shards.push_back({static_cast<size_t>(shard[0].as_int()), std::string(shard[1].as_string())});
  }
  return shards;
}

std::vector<TensorType> input_types(const Graph& graph) {
  std::vector<TensorType> types;
  for (const ValueId input : graph.inputs) types.push_back(graph.type(input));
  return types;
}

// Runs it and returns the outputs on the host.
std::vector<Tensor> run_on(const Device& device, Executable& executable,
                           std::span<const TensorType> types, std::vector<Tensor> inputs) {
  require_types("Worker", types, inputs);
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

// The worker's part of a step, and its communication with the servers.
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
  std::vector<TensorType> inputs;     // of the executable
  std::unique_ptr<Executable> ahead;  // null: it takes no rows
  std::vector<TensorType> ahead_inputs;
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

// Everything runs on one thread: the calls of a job are processed one after another.
CallMessage StepWorker::handle(const std::string& method, const CallMessage& request) {
  CallMessage answer;
  computing_.run([&] {
    if (method == "run") {
      answer = run(request);
    } else if (method == "define") {
      define(request);
    } else if (method == "dataset") {
      make_dataset(request);
    } else if (method == "forget") {
      forget(request);
    } else {
      raise<NotFound>("Worker: there is no call '{}'.", method);
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
  const int64_t constants = json.at("constants").as_int();
  check<InvalidArgument>(constants >= 0 && constants <= std::ssize(request.tensors),
                         "Worker: expected at most {} constants, got {}.", request.tensors.size(),
                         constants);
  const auto middle = request.tensors.begin() + constants;
  Graph graph = from_portable({json.at("graph").as_string(), {request.tensors.begin(), middle}});
  Graph ahead = from_portable({json.at("ahead").as_string(), {middle, request.tensors.end()}});
  require_consistent(*step, graph, ahead, servers_.count());
  step->inputs = input_types(graph);
  step->ahead_inputs = input_types(ahead);
  const auto compiled = [&](Graph own, const char* name) {
    return backend_for(step->device)
        .compile(std::move(own), {.name = name, .device = step->device});
  };
  step->executable = compiled(std::move(graph), "step");
  if (!step->taken.empty()) step->ahead = compiled(std::move(ahead), "rows");
  steps_.insert_or_assign(json.at("signature").as_string(), std::move(step));
}

// Validates the coordinator's message once, here, so that runs needn't.
void StepWorker::require_consistent(const Step& step, const Graph& graph, const Graph& ahead,
                                    size_t servers) {
  const auto require = [](bool holds, const char* what) {
    check<InvalidArgument>(holds, "Worker: a step's {} don't fit its graphs.", what);
  };
  const auto require_shards = [&](const std::vector<ShardPlace>& shards) {
    require(!shards.empty() &&
                std::ranges::all_of(
                    shards, [&](const ShardPlace& shard) { return shard.server < servers; }),
            "shards");
  };
  const size_t outputs = graph.outputs.size();
  require(graph.states.empty() && ahead.states.empty(), "states");
  require(step.results <= outputs, "results");
  require(graph.inputs.size() >= step.read.size() + step.taken.size(), "inputs");
  for (const Step::Read& read : step.read) require_shards(read.shards);
  for (const Step::Taken& taken : step.taken) {
    require_shards(taken.source.shards);
    const std::vector<int64_t>& ends = taken.source.ends;
    require(ends.size() == taken.source.shards.size() && ends.front() > 0 &&
                std::ranges::is_sorted(ends) && taken.source.shape.rank() > 0 &&
                ends.back() == taken.source.shape[0],
            "rows");
    require(taken.indices < ahead.outputs.size() &&
                is_integer(ahead.type(ahead.outputs[taken.indices]).dtype),
            "numbers of rows");
  }
  for (const Step::Update& update : step.updates) {
    require(update.server < servers, "servers");
    for (const int64_t sent : update.sent) {
      require(sent >= 0 && static_cast<size_t>(sent) < outputs, "updates");
    }
  }
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

void StepWorker::forget(const CallMessage& request) {
  for (const int64_t number : request.json.at("datasets").as_ints()) datasets_.erase(number);
  for (const std::string& signature : request.json.at("signatures").as_strings()) {
    steps_.erase(signature);
  }
  std::set<std::string> read;
  for (const auto& [signature, step] : steps_) {
    for (const Step::Read& variable : step->read) {
      for (const ShardPlace& shard : variable.shards) read.insert(shard.key);
    }
  }
  shards_.keep(read);
}

CallMessage StepWorker::run(const CallMessage& request) {
  check<InvalidArgument>(!request.tensors.empty(), "Worker: expected a key, got no tensor.");
  if (request.json.contains("dataset")) return run_batch(request);
  return run_known(request.json.at("signature").as_string(),
                   {request.tensors.begin(), request.tensors.end() - 1}, request);
}

CallMessage StepWorker::run_batch(const CallMessage& request) {
  const int64_t number = request.json.at("dataset").as_int();
  const auto found = datasets_.find(number);
  check<NotFound>(found != datasets_.end(), "Worker: there is no dataset {}.", number);
  Batches& batches = found->second;
  std::vector<Tensors> arguments;
  if (batches.held && request.json.at("held").as_bool()) {
    arguments = *std::exchange(batches.held, std::nullopt);
  } else {
    Batch batch;
    check<OutOfRange>(batches.iterator->next(batch),
                      "ClusterCoordinator: a worker's dataset has ended. Repeat it, or schedule as "
                      "many steps as it has batches.");
    arguments = arguments_of(batch);
  }
  const std::string signature = step_signature(request.json.at("function").as_int(), arguments);
  if (steps_.contains(signature)) {
    std::vector<Tensor> tensors;
    for (const Tensors& argument : arguments) internal::flatten_into(tensors, argument);
    return run_known(signature, std::move(tensors), request);
  }
  Json needs = Json::array();
  for (const Tensors& argument : arguments) {
    Json types = Json::array();
    for (size_t i = 0; i < argument.size(); ++i) {
      const Json name = argument.has_names() ? Json(argument.names()[i]) : Json();
      types.push_back(Json::array({name, to_string(argument[i].dtype()), argument[i].shape()}));
    }
    needs.push_back(types);
  }
  batches.held = std::move(arguments);
  return {Json::object({{"needs", needs}})};
}

CallMessage StepWorker::run_known(const std::string& signature, std::vector<Tensor> arguments,
                                  const CallMessage& request) {
  const auto found = steps_.find(signature);
  check<NotFound>(found != steps_.end(), "Worker: it knows no step '{}'.", signature);
  return {Json::object({{"signature", signature}}),
          run_step(*found->second, std::move(arguments), request)};
}

std::vector<Tensor> StepWorker::run_step(const Step& step, std::vector<Tensor> inputs,
                                         const CallMessage& request) {
  if (step.has_key) inputs.push_back(request.tensors.back());
  inputs.insert(inputs.end(), step.values.begin(), step.values.end());
  std::vector<Tensor> values = read(step);
  if (step.ahead) {
    const std::vector<Tensor> indices = run_on(step.device, *step.ahead, step.ahead_inputs, inputs);
    std::vector<RowRequest> requests;
    for (const Step::Taken& taken : step.taken) {
      requests.push_back({&taken.source, indices.at(taken.indices)});
    }
    const std::vector<Tensor> rows = take_rows(servers_, requests);
    values.insert(values.end(), rows.begin(), rows.end());
  }
  inputs.insert(inputs.end(), values.begin(), values.end());
  std::vector<Tensor> outputs =
      run_on(step.device, *step.executable, step.inputs, std::move(inputs));
  send(step, outputs, request.json);
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

void StepWorker::send(const Step& step, const std::vector<Tensor>& outputs, const Json& request) {
  std::vector<ServerCall> calls;
  for (const Step::Update& update : step.updates) {
    ServerCall& call = calls.emplace_back();
    call.server = update.server;
    call.message.json.set("update", update.number);
    for (const char* name : {"step", "over"}) call.message.json.set(name, request.at(name));
    for (const int64_t output : update.sent) {
      call.message.tensors.push_back(outputs.at(static_cast<size_t>(output)));
    }
  }
  if (!calls.empty()) servers_.call("update", std::move(calls));
}

}  // namespace cornu::distribute
