// SPDX-License-Identifier: Apache-2.0
// The strategy of docs/adding/strategy.md.
#pragma once

#include <utility>

#include "framework/graph/backend.h"
#include "framework/graph/dispatch.h"
#include "framework/ops/ops.h"
#include "framework/strategy/in_process_group.h"
#include "framework/strategy/strategy.h"

namespace cornu::example {

// Replicas on CPU:0, CPU:1, …, each with a share of the cores and a copy of every variable.
class MirroredThreads : public StrategyImpl {
 public:
  explicit MirroredThreads(int replicas) : replicas_(static_cast<size_t>(replicas)) {}

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
    const std::vector<Device> where = devices();
    // An aborted group stays so: each step has one of its own.
    const auto group = make_in_process_group(static_cast<int>(replicas_));
    std::vector<std::shared_ptr<const CompiledFunction>> code;
    std::vector<std::vector<Tensor>> inputs;
    std::vector<std::vector<Variable>> variables;
    std::vector<Launch> launches(replicas_);
    std::vector<Replica> who(replicas_);
    std::vector<double> sums;  // of what traces count: all replicas together know them beforehand
    int64_t first_example = 0;
    for (size_t i = 0; i < replicas_; ++i) {
      who[i] = {.count = num_replicas_in_sync(),
                .examples = arguments[i].at(0)[0].dim(0),
                .id = static_cast<int64_t>(i),
                .first_example = first_example};
      first_example += who[i].examples;
      const ReplicaScope scope(&who[i]);
      code.push_back(step.compiled_for(arguments[i]));
      sums.resize(code[i]->replica_sums.size());
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += code[i]->replica_sums[k];
    }
    for (size_t i = 0; i < replicas_; ++i) {
      who[i].sums = sums;
      inputs.push_back(code[i]->inputs(arguments[i], {}, who[i]));
      variables.push_back(Variable::of_replicas(code[i]->variables, replicas_)[i]);
      launches[i].executable = code[i]->executable.get();
      launches[i].device = where[i];
      launches[i].inputs = inputs[i];
      launches[i].variables = variables[i];
      launches[i].group = group[i].get();
    }
    cpu_backend().run(launches);
    std::vector<Tensors> results;
    for (size_t i = 0; i < replicas_; ++i) {
      results.push_back(code[i]->structure.with(std::move(launches[i].outputs)));
    }
    return results;
  }

  // Batches come whole: split() divides them.
  std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) override {
    return source;
  }

  std::vector<Batch> split(const Batch& batch) override {
    const int64_t examples = examples_of(batch);
    const int64_t count = num_replicas_in_sync();
    std::vector<Batch> parts;
    for (int64_t i = 0; i < count; ++i) {
      parts.push_back(rows_of(batch, examples * i / count, examples * (i + 1) / count));
    }
    return parts;
  }

  Tensor reduce(ReduceOp op, const std::vector<Tensor>& by_replica, const std::string&) override {
    const Tensor all = ops::stack(by_replica);
    switch (op) {
      case ReduceOp::Sum:
        return ops::sum(all, 0);
      case ReduceOp::Mean:
        return ops::mean(all, 0);
      case ReduceOp::Min:
        return ops::min(all, 0);
      case ReduceOp::Max:
        return ops::max(all, 0);
    }
    return all;
  }

 private:
  size_t replicas_;
};

}  // namespace cornu::example
