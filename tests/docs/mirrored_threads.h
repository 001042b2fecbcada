// SPDX-License-Identifier: Apache-2.0
// The strategy of docs/adding/strategy.md.
#pragma once

#include <unordered_map>
#include <utility>

#include "framework/graph/dispatch.h"
#include "framework/ops/ops.h"
#include "framework/strategy/in_process_group.h"
#include "framework/strategy/strategy.h"

namespace cornu::example {

// What each replica of a strategy keeps of a variable: replica 0 the variable, the others a copy.
class MirroredVariables {
 public:
  explicit MirroredVariables(size_t replicas) : replicas_(replicas) {}

  // The variables of a replica, brought up to date where somebody else has written them.
  std::vector<Variable> of_replica(const std::vector<Variable>& variables, size_t replica) {
    std::vector<Variable> result;
    for (const Variable& variable : variables) {
      Mirror& mirror = mirrors_[variable.id()];
      if (mirror.values.empty() || mirror.version != variable.version()) refresh(mirror, variable);
      result.push_back(mirror.values[replica]);
    }
    return result;
  }

  // After a step, which has written every copy alike.
  void stepped(const std::vector<Variable>& variables) {
    for (const Variable& variable : variables) {
      mirrors_[variable.id()].version = variable.version();
    }
  }

 private:
  struct Mirror {
    std::vector<Variable> values;  // by replica
    uint64_t version = 0;          // of the variable, when the copies were equal to it
  };

  void refresh(Mirror& mirror, const Variable& variable) const {
    if (mirror.values.empty()) mirror.values.push_back(variable);
    while (mirror.values.size() < replicas_) {
      mirror.values.emplace_back(variable.stored(), VariableOptions{.name = variable.name()});
    }
    for (size_t i = 1; i < replicas_; ++i) mirror.values[i].store(variable.stored());
    mirror.version = variable.version();
  }

  size_t replicas_;
  std::unordered_map<const void*, Mirror> mirrors_;
};

// Replicas on CPU:0, CPU:1, …, each with a share of the cores. Steps must add up their gradients
// with all_reduce, so that every replica writes the same values.
class MirroredThreads : public StrategyImpl {
 public:
  explicit MirroredThreads(int replicas)
      : replicas_(static_cast<size_t>(replicas)), variables_(replicas_) {}

  std::string name() const override { return "MirroredThreads"; }
  int64_t num_replicas_in_sync() const override { return static_cast<int64_t>(replicas_); }
  std::vector<Device> devices() const override {
    std::vector<Device> devices;
    for (size_t i = 0; i < replicas_; ++i) {
      devices.push_back({DeviceType::Cpu, static_cast<int>(i)});
    }
    return devices;
  }

  std::vector<Tensors> run(const Function& step,
                           const std::vector<std::vector<Tensors>>& arguments) override {
    check<InvalidArgument>(arguments.size() == replicas_,
                           "MirroredThreads: expected arguments for {} replicas, got {}.",
                           replicas_, arguments.size());
    const internal::ReplicaContextScope context(num_replicas_in_sync());
    const auto compiled = step.compiled_for(arguments.front());
    const std::vector<Device> where = devices();
    // An aborted group stays so: each step has one of its own.
    const auto group = make_in_process_group(static_cast<int>(replicas_));
    std::vector<std::vector<Tensor>> inputs;
    std::vector<std::vector<Variable>> variables;
    std::vector<ReplicaArgs> replicas(replicas_);
    for (size_t i = 0; i < replicas_; ++i) {
      inputs.push_back(compiled->inputs(arguments[i]));
      require_alike(step, inputs[i], inputs.front());
      variables.push_back(variables_.of_replica(compiled->variables, i));
      replicas[i].device = where[i];
      replicas[i].inputs = inputs[i];
      replicas[i].variables = variables[i];
      replicas[i].group = group[i].get();
    }
    compiled->executable->run(replicas);
    variables_.stepped(compiled->variables);
    std::vector<Tensors> results;
    for (ReplicaArgs& replica : replicas) {
      results.push_back(compiled->structure.with(std::move(replica.outputs)));
    }
    return results;
  }

  // Batches come whole: split() divides them.
  std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) override {
    return source;
  }

  std::vector<Batch> split(const Batch& batch) override {
    std::vector<Batch> parts(replicas_);
    for (size_t i = 0; i < replicas_; ++i) {
      parts[i].x = batch.x.with(rows_of(batch.x.list(), i));
      parts[i].y = batch.y.with(rows_of(batch.y.list(), i));
      parts[i].sample_weight = batch.sample_weight.with(rows_of(batch.sample_weight.list(), i));
    }
    return parts;
  }

  Tensor reduce(ReduceOp op, const std::vector<Tensor>& by_replica) override {
    Tensor result = by_replica.front();
    for (size_t i = 1; i < by_replica.size(); ++i) {
      if (op == ReduceOp::Min) {
        result = ops::minimum(result, by_replica[i]);
      } else if (op == ReduceOp::Max) {
        result = ops::maximum(result, by_replica[i]);
      } else {
        result = result + by_replica[i];
      }
    }
    return op == ReduceOp::Mean ? result / static_cast<int64_t>(replicas_) : result;
  }

 private:
  // One compiled step runs on all replicas: their inputs must have the same types.
  static void require_alike(const Function& step, const std::vector<Tensor>& inputs,
                            const std::vector<Tensor>& first) {
    bool alike = inputs.size() == first.size();
    for (size_t i = 0; alike && i < first.size(); ++i) {
      alike = type_of(inputs[i]) == type_of(first[i]);
    }
    check<InvalidArgument>(alike,
                           "MirroredThreads: expected inputs of the same shapes and dtypes on all "
                           "replicas of '{}'.",
                           step.options().name);
  }

  std::vector<Tensor> rows_of(const std::vector<Tensor>& tensors, size_t replica) const {
    const int64_t count = num_replicas_in_sync();
    const auto index = static_cast<int64_t>(replica);
    std::vector<Tensor> parts;
    for (const Tensor& tensor : tensors) {
      const int64_t rows = tensor.dim(0);
      check<InvalidArgument>(rows % count == 0,
                             "MirroredThreads: expected a batch size divisible by {} replicas, got "
                             "{}. Drop the remainder when batching.",
                             count, rows);
      parts.push_back(tensor.rows(rows / count * index, rows / count * (index + 1)));
    }
    return parts;
  }

  size_t replicas_;
  MirroredVariables variables_;
};

}  // namespace cornu::example
