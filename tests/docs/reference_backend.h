// SPDX-License-Identifier: Apache-2.0
// The backend of docs/adding/backend.md: a few float32 ops as plain loops.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/graph/backend.h"

namespace cornu::example {

using Inputs = std::span<const Tensor>;
using LoopKernel = void (*)(const Attributes& attributes, Inputs in, Tensor& out);

// Where element `i` of an array of shape `whole` lies in an operand that is broadcast to it.
inline size_t operand_index(int64_t i, const Shape& whole, const Shape& operand) {
  int64_t index = 0;
  int64_t step = 1;
  for (int64_t back = 1; back <= operand.rank(); ++back) {
    const int64_t size = whole[whole.rank() - back];
    const int64_t own = operand[operand.rank() - back];
    if (own != 1) index += i % size * step;
    step *= own;
    i /= size;
  }
  return static_cast<size_t>(index);
}

template <float (*kFunction)(float, float)>
void binary(const Attributes&, Inputs in, Tensor& out) {
  const auto a = in[0].data<float>();
  const auto b = in[1].data<float>();
  auto y = out.mutable_data<float>();
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    y[static_cast<size_t>(i)] = kFunction(a[operand_index(i, out.shape(), in[0].shape())],
                                          b[operand_index(i, out.shape(), in[1].shape())]);
  }
}

inline float add(float a, float b) { return a + b; }
inline float subtract(float a, float b) { return a - b; }
inline float multiply(float a, float b) { return a * b; }

// Also implements reshape, for which elements keep their order.
inline void broadcast(const Attributes&, Inputs in, Tensor& out) {
  const auto x = in[0].data<float>();
  auto y = out.mutable_data<float>();
  const bool same = in[0].num_elements() == out.num_elements();
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = x[same ? i : operand_index(static_cast<int64_t>(i), out.shape(), in[0].shape())];
  }
}

inline void reduce_sum(const Attributes& attributes, Inputs in, Tensor& out) {
  Shape kept = in[0].shape();
  for (const int64_t axis : attributes.get_ints("axes")) kept[axis] = 1;
  auto y = out.mutable_data<float>();
  std::fill(y.begin(), y.end(), 0.0f);
  for (int64_t i = 0; i < in[0].num_elements(); ++i) {
    y[operand_index(i, in[0].shape(), kept)] += in[0].data<float>()[static_cast<size_t>(i)];
  }
}

// Multiplies two matrices.
inline void matmul(const Attributes& attributes, Inputs in, Tensor& out) {
  const bool transpose_a = attributes.get_bool("transpose_a");
  const bool transpose_b = attributes.get_bool("transpose_b");
  const int64_t m = out.dim(0);
  const int64_t n = out.dim(1);
  const int64_t k = in[0].dim(transpose_a ? 0 : 1);
  const float* a = in[0].data<float>().data();
  const float* b = in[1].data<float>().data();
  float* y = out.mutable_data<float>().data();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += a[transpose_a ? l * m + i : i * k + l] * b[transpose_b ? j * k + l : l * n + j];
      }
      y[i * n + j] = sum;
    }
  }
}

inline LoopKernel find_kernel(const std::string& op) {
  static const std::map<std::string, LoopKernel> kernels = {
      {"add", binary<add>},        {"subtract", binary<subtract>}, {"multiply", binary<multiply>},
      {"broadcast_to", broadcast}, {"reshape", broadcast},         {"reduce_sum", reduce_sum},
      {"matmul", matmul},
  };
  const auto found = kernels.find(op);
  return found == kernels.end() ? nullptr : found->second;
}

// Runs a graph node by node.
class ReferenceExecutable : public Executable {
 public:
  ReferenceExecutable(Backend& backend, Graph graph)
      : backend_(backend), graph_(std::move(graph)) {}

  // All values, by ValueId. Writes nothing.
  std::vector<Tensor> compute(const Launch& launch) const {
    std::vector<Tensor> values(graph_.types.size());
    auto value = [&](ValueId id) -> Tensor& { return values[static_cast<size_t>(id)]; };
    for (size_t i = 0; i < graph_.inputs.size(); ++i) value(graph_.inputs[i]) = launch.inputs[i];
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      value(graph_.states[i].in) = launch.variables[i].stored();
    }
    for (const Node& node : graph_.nodes) {
      std::vector<Tensor> inputs;
      std::vector<TensorType> types;
      for (ValueId id : node.inputs) inputs.push_back(value(id));
      for (ValueId id : node.outputs) types.push_back(graph_.type(id));
      const std::vector<Tensor> outputs = run_node(node, inputs, types, launch.group);
      for (size_t i = 0; i < types.size(); ++i) value(node.outputs[i]) = outputs[i];
    }
    return values;
  }

  void finish(const std::vector<Tensor>& values, Launch& launch) const {
    launch.outputs.clear();
    for (ValueId id : graph_.outputs) launch.outputs.push_back(values[static_cast<size_t>(id)]);
    for (size_t i = 0; i < graph_.states.size(); ++i) {
      const StateBinding& state = graph_.states[i];
      if (state.out != state.in) launch.variables[i].store(values[static_cast<size_t>(state.out)]);
    }
  }

  std::string describe() const override { return graph_.to_string(); }
  size_t node_count() const override { return graph_.nodes.size(); }
  size_t workspace_bytes() const override { return 0; }  // it takes memory as it goes

 private:
  std::vector<Tensor> run_node(const Node& node, const std::vector<Tensor>& inputs,
                               const std::vector<TensorType>& types, CollectiveGroup* group) const {
    if (node.is("constant")) return {node.attributes.get_tensor("value")};
    if (!node.is("all_reduce")) {
      return backend_.execute(*node.op, inputs, node.attributes, types, Device{});
    }
    if (!group) return inputs;
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < types.size(); ++i) {
      outputs.push_back(Tensor::empty(types[i].shape, types[i].dtype));
      group->all_reduce(inputs[i].raw(), outputs[i].mutable_raw(), inputs[i].num_elements(),
                        types[i].dtype, ReduceOp::Sum);
    }
    return outputs;
  }

  Backend& backend_;
  Graph graph_;
};

// Runs every launch on a thread of its own.
inline void run_launches(std::span<Launch> launches) {
  auto code = [](const Launch& launch) -> const ReferenceExecutable& {
    return static_cast<const ReferenceExecutable&>(*launch.executable);
  };
  std::vector<std::vector<Tensor>> values(launches.size());
  std::mutex mutex;
  std::exception_ptr cause;  // the first error; those of aborted collectives come after it
  auto launch = [&](size_t i) {
    try {
      values[i] = code(launches[i]).compute(launches[i]);
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(mutex);
        if (!cause) cause = std::current_exception();
      }
      if (launches[i].group) launches[i].group->abort(error.what());
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < launches.size(); ++i) threads.emplace_back(launch, i);
  launch(0);
  for (std::thread& thread : threads) thread.join();
  if (cause) std::rethrow_exception(cause);
  // Nothing can fail from here on: all variables of all replicas are written, or none.
  for (size_t i = 0; i < launches.size(); ++i) code(launches[i]).finish(values[i], launches[i]);
}

class ReferenceBackend : public Backend {
 public:
  std::string name() const override { return "reference"; }

  std::unique_ptr<Executable> compile(Graph graph, const ExecutableOptions&) override {
    for (const Node& node : graph.nodes) {
      std::vector<TensorType> inputs;
      std::vector<TensorType> outputs;
      for (ValueId id : node.inputs) inputs.push_back(graph.type(id));
      for (ValueId id : node.outputs) outputs.push_back(graph.type(id));
      require(*node.op, inputs, node.attributes, outputs);
    }
    return std::make_unique<ReferenceExecutable>(*this, std::move(graph));
  }

  void run(std::span<Launch> launches) override { run_launches(launches); }

  std::vector<Tensor> execute(const OpDef& op, std::span<const Tensor> inputs,
                              const Attributes& attributes,
                              std::span<const TensorType> output_types, const Device&) override {
    std::vector<TensorType> input_types;
    for (const Tensor& input : inputs) input_types.push_back(type_of(input));
    require(op, input_types, attributes, output_types);
    Tensor out = Tensor::empty(output_types[0].shape, output_types[0].dtype);
    find_kernel(op.name)(attributes, inputs, out);
    return {out};
  }

  // The device's memory is the host's.
  Tensor to_device(const Tensor& tensor, const Device&) override { return tensor; }
  int device_count() const override { return 1; }

  bool supports(const OpDef& op, std::span<const TensorType> inputs, const Attributes& attributes,
                std::span<const TensorType> outputs) const override {
    if (op.name == "constant") return true;
    for (const auto& types : {inputs, outputs}) {
      for (const TensorType& type : types) {
        if (type.dtype != DType::Float32) return false;
        if (op.name == "matmul" && type.shape.rank() != 2) return false;
      }
    }
    if (op.name == "all_reduce") return attributes.get_string("reduce") == "sum";
    return find_kernel(op.name) != nullptr;
  }

 private:
  void require(const OpDef& op, std::span<const TensorType> inputs, const Attributes& attributes,
               std::span<const TensorType> outputs) const {
    check<Unimplemented>(supports(op, inputs, attributes, outputs),
                         "{}: the reference backend has no kernel for {} {}.", op.name,
                         outputs[0].dtype, outputs[0].shape);
  }
};

}  // namespace cornu::example
