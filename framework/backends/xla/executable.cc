// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/executable.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/replica_threads.h"
#include "framework/core/variable_access.h"
#include "framework/graph/launches.h"
#include "framework/graph/passes/pass.h"

namespace cornu::xla {
namespace {

// A part of an array under another shape: `begin` elements from its start.
ArrayPtr part_of(const ArrayPtr& array, int64_t begin, const TensorType& type, Client& client) {
  Writer to;
  const Value whole = to.parameter(array->type());
  const Value flat = reshape(to, whole, {whole.shape().num_elements()});
  const Value part =
      reshape(to, slice_axis(to, flat, 0, begin, begin + type.shape.num_elements()), type.shape);
  const std::vector<ArrayPtr> arguments[] = {{array}};
  const auto program = client.compile(module_text(to, {whole}, {part}), {array->device()}, {type});
  return program->run(arguments, {}, false).front().front();
}

// One run: the variables of its launches, their arrays, and what they become.
class Run {
 public:
  Run(std::span<Launch> launches, Client& client) : launches_(launches), client_(client) {
    for (const Launch& launch : launches_) {
      first_state_.push_back(states_);
      for (size_t i = 0; i < launch.variables.size(); ++i, ++states_) {
        access_.add(launch.variables[i], code(launch).writes(i));
      }
    }
    access_.acquire();
  }

  void operator()() {
    results_.resize(launches_.size());
    if (!communicates()) {
      for (size_t i = 0; i < launches_.size(); ++i) run_alone(i);
    } else if (are_one_program()) {
      run_together();
    } else {
      return run_segments();
    }
    std::exception_ptr refused;
    for (size_t i = 0; i < launches_.size(); ++i) {
      const std::exception_ptr one = take_refused(text(i), results_[i]);
      if (!refused) refused = one;
    }
    // Of several replicas, others have gone on.
    if (refused && launches_.size() > 1) std::rethrow_exception(refused);
    for (size_t i = 0; i < launches_.size(); ++i) finish(i);
    started_ = false;
    if (refused) std::rethrow_exception(refused);
  }

  // What was overwritten, or may have been.
  void poison(const std::string& why) const {
    if (!started_) return;
    for (const Launch& launch : launches_) {
      for (size_t i = 0; i < launch.variables.size(); ++i) {
        if (code(launch).writes(i)) launch.variables[i].poison(why);
      }
    }
  }

 private:
  static XlaExecutable& code(const Launch& launch) {
    return static_cast<XlaExecutable&>(*launch.executable);
  }
  const ProgramText& text(size_t launch) { return code(launches_[launch]).text(replicas_); }

  bool communicates() const {
    return std::ranges::any_of(launches_, [](const Launch& launch) {
      const bool alone = launch.group == nullptr || launch.group->size() == 1;
      return !alone && code(launch).text(1).communicates;
    });
  }

  // Whether all replicas are here, each on a device of its own, and do the same.
  bool are_one_program() {
    const auto replicas = static_cast<int>(launches_.size());
    std::set<int> devices;
    for (const Launch& launch : launches_) {
      if (launch.group == nullptr || launch.group->size() != replicas) return false;
      devices.insert(launch.device.index);
    }
    if (static_cast<int>(devices.size()) != replicas) return false;
    const std::string& first = code(launches_.front()).text(launches_.size()).text;
    for (const Launch& launch : launches_.subspan(1)) {
      if (code(launch).text(launches_.size()).text != first) return false;
    }
    replicas_ = launches_.size();
    return true;
  }

  // Arrays of a launch's inputs and variables, and which of those must be left as they are.
  std::vector<ArrayPtr> arguments(size_t index, std::vector<int64_t>& kept) {
    const Launch& launch = launches_[index];
    std::vector<ArrayPtr> arrays;
    for (const Tensor& input : launch.inputs) arrays.push_back(array_of(input, client_));
    for (size_t i = 0; i < launch.variables.size(); ++i) {
      const Tensor& value = access_.current(first_state_[index] + i, launch.device);
      ArrayPtr array = array_of(value, client_);
      // Held by the variable's buffer, and here.
      const bool only_ours = value.is_unique() && array.use_count() == 2;
      if (code(launch).writes(i) && !only_ours) kept.push_back(static_cast<int64_t>(arrays.size()));
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  void run_alone(size_t index) {
    std::vector<int64_t> kept;
    const std::vector<ArrayPtr> arrays[] = {arguments(index, kept)};
    const LoadedProgram& program =
        code(launches_[index]).program_for({launches_[index].device.index});
    started_ = true;
    results_[index] = std::move(program.run(arrays, kept, false).front());
  }

  void run_together() {
    std::vector<int64_t> kept;
    std::vector<std::vector<ArrayPtr>> arrays;
    std::vector<int> devices;
    for (size_t i = 0; i < launches_.size(); ++i) {
      arrays.push_back(arguments(i, kept));
      devices.push_back(launches_[i].device.index);
    }
    std::ranges::sort(kept);
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    const LoadedProgram& program = code(launches_.front()).program_for(devices);
    started_ = true;
    results_ = program.run(arrays, kept, true);
  }

  // Nothing is overwritten; variables are replaced when all replicas have done well.
  void run_segments() {
    std::vector<std::exception_ptr> errors(launches_.size());
    std::vector<std::vector<ArrayPtr>> arrays;
    for (size_t i = 0; i < launches_.size(); ++i) {
      std::vector<int64_t> kept;
      arrays.push_back(arguments(i, kept));
    }
    run_replicas(static_cast<int>(launches_.size()), [&](int replica) {
      const auto index = static_cast<size_t>(replica);
      const Launch& launch = launches_[index];
      try {
        CORNU_ASSERT(launch.group != nullptr, ==, true);
        results_[index] =
            code(launch).segments().run(arrays[index], launch.device.index, *launch.group);
      } catch (const std::exception& error) {
        errors[index] = std::current_exception();
        if (launch.group) launch.group->abort(error.what());
      }
    });
    if (const std::exception_ptr cause = first_cause(errors)) std::rethrow_exception(cause);
    for (size_t i = 0; i < launches_.size(); ++i) finish(i);
  }

  void finish(size_t index) {
    Launch& launch = launches_[index];
    const std::vector<ArrayPtr>& results = results_[index];
    const size_t outputs = code(launch).graph().outputs.size();
    launch.outputs.clear();
    for (size_t i = 0; i < outputs; ++i) launch.outputs.push_back(tensor_of(results[i]));
    const std::vector<size_t>& written = text(index).written;
    for (size_t i = 0; i < written.size(); ++i) {
      access_.replace(first_state_[index] + written[i],
                      tensor_of(std::exchange(results_[index][outputs + i], nullptr)));
    }
  }

  std::span<Launch> launches_;
  Client& client_;
  VariableAccess access_;
  std::vector<size_t> first_state_;  // by launch
  size_t states_ = 0;
  size_t replicas_ = 1;  // of one program
  bool started_ = false;
  std::vector<std::vector<ArrayPtr>> results_;  // by launch
};

}  // namespace

Graph optimize(Graph graph, passes::Dump& dump) {
  const passes::Evaluator evaluate = [](const OpDef& op, std::span<const Tensor> inputs,
                                        const Attributes& attributes,
                                        std::span<const TensorType> types) {
    return cpu_backend().execute(op, inputs, attributes, types, Device{});
  };
  dump.write("traced", graph);
  graph = passes::simplify(graph, evaluate);
  dump.write("simplify", graph);
  return graph;
}

XlaExecutable::XlaExecutable(Graph graph, Client& client)
    : graph_(std::move(graph)), client_(client) {
  text(1);
}

const ProgramText& XlaExecutable::text(size_t replicas) {
  const std::lock_guard lock(mutex_);
  const auto it = texts_.find(replicas);
  if (it != texts_.end()) return it->second;
  return texts_.emplace(replicas, lower_program(graph_, static_cast<int>(replicas))).first->second;
}

LoadedProgram& XlaExecutable::program_for(const std::vector<int>& devices) {
  const ProgramText& program = text(devices.size());
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LoadedProgram>& loaded = programs_[devices];
  if (!loaded) loaded = client_.compile(program.text, devices, program.outputs);
  return *loaded;
}

Segments& XlaExecutable::segments() {
  const std::lock_guard lock(mutex_);
  if (!segments_) segments_ = std::make_unique<Segments>(graph_, client_);
  return *segments_;
}

ArrayPtr array_of(const Tensor& tensor, Client& client) {
  const auto& buffer = static_cast<const ArrayBuffer&>(*tensor.buffer());
  const ArrayPtr& array = buffer.array();
  const TensorType type = type_of(tensor);
  if (array->type() == type) return array;
  const auto offset = static_cast<size_t>(tensor.address() - buffer.data());
  const size_t size = size_of(type.dtype);
  if (array->type().dtype == type.dtype && offset % size == 0) {
    return part_of(array, static_cast<int64_t>(offset / size), type, client);
  }
  std::vector<std::byte> bytes(type.bytes());
  buffer.copy_to_host(offset, bytes);
  return client.upload(bytes.data(), type, array->device());
}

std::vector<Tensor> run_op(XlaExecutable& executable, std::span<const Tensor> inputs, int device,
                           Client& client) {
  std::vector<ArrayPtr> arrays;
  for (const Tensor& input : inputs) arrays.push_back(array_of(input, client));
  const std::vector<ArrayPtr> arguments[] = {std::move(arrays)};
  std::vector<ArrayPtr> results =
      std::move(executable.program_for({device}).run(arguments, {}, false).front());
  if (const auto refused = take_refused(executable.text(1), results)) {
    std::rethrow_exception(refused);
  }
  std::vector<Tensor> outputs;
  for (const ArrayPtr& array : results) outputs.push_back(tensor_of(array));
  return outputs;
}

void run_launches(std::span<Launch> launches, Client& client) {
  Run run(launches, client);
  try {
    run();
  } catch (const std::exception& error) {
    run.poison(error.what());
    for (const Launch& launch : launches) {
      if (launch.group) launch.group->abort(error.what());
    }
    throw;
  }
  for (const Launch& launch : launches) {
    if (launch.group) launch.group->end_step();
  }
}

}  // namespace cornu::xla
