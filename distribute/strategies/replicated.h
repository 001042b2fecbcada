// SPDX-License-Identifier: Apache-2.0
// Common base of strategies with several replicas in one process.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "distribute/strategies/cross_device_ops.h"
#include "distribute/strategies/step_collectives.h"
#include "framework/graph/replica.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

// Runs each step on all devices concurrently, every replica on its part of the batch. Steps are
// compiled for each device, once per number of examples; CPUs share their code.
class ReplicatedStrategy : public StrategyImpl {
 public:
  ReplicatedStrategy(std::string name, std::vector<Device> devices, CrossDeviceOps ops);

  std::string name() const override { return name_; }
  int64_t num_replicas_in_sync() const override { return static_cast<int64_t>(devices_.size()); }
  std::vector<Device> devices() const override { return devices_; }
  std::vector<Tensors> run(const Function& step,
                           const std::vector<std::vector<Tensors>>& arguments) override;
  // Batches arrive whole: split() divides them.
  std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) override {
    return source;
  }
  // As evenly as possible: the first parts have one more example if they differ.
  std::vector<Batch> split(const Batch& batch) override;
  Tensor reduce(ReduceOp op, const std::vector<Tensor>& by_replica,
                const std::string& call) override;

 protected:
  using Compiled = std::shared_ptr<const CompiledFunction>;
  // What each replica has of these variables.
  virtual std::vector<std::vector<Variable>> divide(
      const std::vector<Variable>& variables) const = 0;
  // The code that a replica runs for a function. Called in the scope of its device.
  virtual Executable& code(const Compiled& function, size_t) { return *function->executable; }

  using Group = std::vector<std::unique_ptr<CollectiveGroup>>;
  // A group of these replicas, for the duration of a run. A group that has failed isn't given back.
  virtual Group take_group();
  virtual void give_back(Group group);
  // The index of this process's first replica among all replicas.
  virtual int64_t first_replica() const { return 0; }
  // Called before a step that communicates: completes the replicas, their sums, and the step's
  // random key with those of other processes.
  virtual void meet(const Function& step, std::vector<Replica>& replicas,
                    std::optional<uint64_t>& key, const std::vector<Compiled>& functions) {
    static_cast<void>(step), static_cast<void>(replicas);
    static_cast<void>(key), static_cast<void>(functions);
  }
  // Wraps the execution of a step that communicates.
  virtual void run_step(const std::function<void()>& step) { step(); }

  // What replicas run for these arguments; traced if necessary.
  struct Traced {
    std::vector<Replica> replicas;
    std::vector<Compiled> functions;
  };
  Traced traced(const Function& step, const std::vector<std::vector<Tensors>>& arguments);
  // Called with the error when tracing fails.
  virtual void on_untraced(const Function& step, const std::exception& error) {
    static_cast<void>(step), static_cast<void>(error);
  }

 private:
  class GroupLease;

  // The device that a replica's code is compiled for.
  const Device& home_device(size_t replica) const {
    return devices_[devices_[replica].type == DeviceType::Cpu ? 0 : replica];
  }
  std::vector<Replica> replicas_of(const std::vector<std::vector<Tensors>>& arguments) const;
  std::vector<Tensors> run_together(const Function& step, const std::vector<Compiled>& functions,
                                    const std::vector<std::vector<Tensors>>& arguments,
                                    std::vector<Replica> replicas);
  void require_same_calls(const std::vector<Compiled>& functions);
  void add_sums(std::vector<Replica>& replicas, const std::vector<Compiled>& functions) const;
  std::vector<Compiled> compiled_for(const Function& step,
                                     const std::vector<std::vector<Tensors>>& arguments,
                                     const std::vector<Replica>& replicas,
                                     std::exception_ptr& failed) const;
  bool learn_gathered(const std::vector<Compiled>& functions, std::vector<Replica>& replicas) const;
  void require_untaped(const CompiledFunction& function,
                       const std::vector<Tensors>& arguments) const;
  std::vector<Variable> own_variables(const CompiledFunction& function) const;
  std::vector<std::vector<Variable>> variables_of(const std::vector<Compiled>& functions) const;

  std::string name_;
  std::vector<Device> devices_;
  CrossDeviceOps ops_;
  std::mutex mutex_;  // guards the members below
  std::vector<Group> idle_groups_;
  CollectiveHashes calls_{GatheredSizes::Any};
};

// Every replica has a copy of all variables on its device.
class MirroredReplicas : public ReplicatedStrategy {
 public:
  using ReplicatedStrategy::ReplicatedStrategy;
  bool exchanges_rows() const override { return devices().front().type == DeviceType::Cpu; }

 protected:
  std::vector<std::vector<Variable>> divide(const std::vector<Variable>& variables) const override {
    return Variable::of_replicas(variables, devices());
  }
};

// Parses device names; empty: all GPUs, or the CPU. Throws InvalidArgument when a device is given
// twice or they are of different types, and Unimplemented when this build has no backend for one.
std::vector<Device> parse_devices(const std::string& strategy,
                                  const std::vector<std::string>& names);

}  // namespace cornu::distribute
