// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/executable.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "framework/core/error.h"
#include "framework/graph/launches.h"
#include "framework/graph/passes/pass.h"

namespace cornu::xla {
namespace {

// A part of an array in another shape, starting `begin` elements from its start.
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

// One run: the arrays of its launches' variables, before and after.
class Run {
 public:
  Run(std::span<Launch> launches, Client& client)
      : launches_(launches),
        client_(client),
        run_(
            launches,
            [](const Executable& executable, size_t state) {
              return static_cast<const XlaExecutable&>(executable).writes(state);
            },
            LaunchRun::States::Tensors),
        results_(launches.size()) {}

  void operator()() {
    if (!communicates()) {
      run_([&](size_t index, bool& touched) { run_alone(index, touched); });
    } else if (are_one_program()) {
      run_.together([&](bool& touched) { run_together(touched); });
    } else {
      run_segments();
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

  // Whether all replicas are in this process, each on its own device, and run the same program.
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

  // The arrays of a launch's inputs and variables, and which of those mustn't be overwritten.
  std::vector<ArrayPtr> arguments(size_t index, std::vector<int64_t>& kept) {
    const Launch& launch = launches_[index];
    std::vector<ArrayPtr> arrays;
    for (const Tensor& input : launch.inputs) arrays.push_back(array_of(input, client_));
    for (size_t i = 0; i < launch.variables.size(); ++i) {
      const Tensor& value = run_.current(index, i);
      ArrayPtr array = array_of(value, client_);
      // Owned by the variable's buffer and by this function.
      const bool only_ours = value.is_unique() && array.use_count() == 2;
      if (code(launch).writes(i) && !only_ours) kept.push_back(static_cast<int64_t>(arrays.size()));
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  // A program with a failed check leaves its variables unchanged.
  void run_alone(size_t index, bool& touched) {
    touched = false;
    std::vector<int64_t> kept;
    const std::vector<ArrayPtr> arrays[] = {arguments(index, kept)};
    const LoadedProgram& program =
        code(launches_[index]).program_for({launches_[index].device.index});
    touched = true;
    results_[index] = std::move(program.run(arrays, kept, false).front());
    const std::exception_ptr refused = take_refused(text(index), results_[index]);
    finish(index);
    if (!refused) return;
    touched = false;
    std::rethrow_exception(refused);
  }

  // Here, other replicas have continued with what one of them rejects.
  void run_together(bool& touched) {
    touched = false;
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
    touched = true;
    results_ = program.run(arrays, kept, true);
    for (size_t i = 0; i < launches_.size(); ++i) {
      if (const auto refused = take_refused(text(i), results_[i])) std::rethrow_exception(refused);
    }
    for (size_t i = 0; i < launches_.size(); ++i) finish(i);
  }

  // Nothing is overwritten; variables are replaced once all replicas have succeeded.
  void run_segments() {
    run_([&](size_t index, bool& touched) {
      touched = false;
      const Launch& launch = launches_[index];
      CORNU_ASSERT(launch.group != nullptr, ==, true);
      std::vector<int64_t> kept;
      results_[index] =
          code(launch).segments().run(arguments(index, kept), launch.device.index, *launch.group);
    });
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
      run_.replace(index, written[i],
                   tensor_of(std::exchange(results_[index][outputs + i], nullptr)));
    }
  }

  std::span<Launch> launches_;
  Client& client_;
  LaunchRun run_;
  size_t replicas_ = 1;                         // in one program
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
  run();
}

}  // namespace cornu::xla
