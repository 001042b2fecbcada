// SPDX-License-Identifier: Apache-2.0
// Strategies: how a step is run on one device or many. The interface, the scope, and the default
// strategy (one replica on the default device). Others are in distribute/strategies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/device.h"
#include "framework/core/tensors.h"
#include "framework/core/variable.h"
#include "framework/graph/communicator.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/strategy/batch_source.h"

namespace cornu {

class Strategy;

namespace distribute {

// One structure of tensors for each local replica (tf.distribute.DistributedValues).
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<Tensors> values) : values_(std::move(values)) {}
  const std::vector<Tensors>& values() const& { return values_; }
  std::vector<Tensors> values() && { return std::move(values_); }
  size_t size() const { return values_.size(); }
  const Tensors& operator[](size_t replica) const { return values_[replica]; }

 private:
  std::vector<Tensors> values_;
};

// What a traced step knows of the replica it runs as. Valid under Strategy::run; elsewhere there is
// one replica.
class ReplicaContext {
 public:
  int64_t num_replicas_in_sync() const { return replicas_; }
  // The reduction over all replicas, as an op of the traced step; the value itself with one
  // replica.
  Tensor all_reduce(ReduceOp op, const Tensor& value) const;
  std::vector<Tensor> all_reduce(ReduceOp op, const std::vector<Tensor>& values) const;

  explicit ReplicaContext(int64_t replicas) : replicas_(replicas) {}

 private:
  int64_t replicas_;
};

// The context of the step being traced or run on this thread.
ReplicaContext get_replica_context();

// What an input function is told about the pipeline it makes (tf.distribute.InputContext).
struct InputContext {
  int64_t num_input_pipelines = 1;
  int64_t input_pipeline_id = 0;
  int64_t num_replicas_in_sync = 1;
  int64_t get_per_replica_batch_size(int64_t global_batch_size) const;
};

}  // namespace distribute

// What a strategy implements. `run` may be called from several threads at once, the rest from one
// at a time.
class StrategyImpl {
 public:
  virtual ~StrategyImpl() = default;
  virtual std::string name() const = 0;
  virtual int64_t num_replicas_in_sync() const = 0;  // of all workers
  virtual std::vector<Device> devices() const = 0;   // of this process's replicas, in order
  // Where variables are made in its scope; none: where they would be without it.
  virtual std::optional<Device> variable_device() const {
    const std::vector<Device> all = devices();
    return all.empty() ? std::nullopt : std::optional(all.front());
  }
  // Runs one step on every local replica at once; arguments and results by local replica.
  virtual std::vector<Tensors> run(const Function& step,
                                   const std::vector<std::vector<Tensors>>& arguments) = 0;
  // The batches of this process: each one is split over its local replicas by split().
  virtual std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) = 0;
  // A batch's parts by local replica; a part may have no examples.
  virtual std::vector<Batch> split(const Batch& batch) = 0;
  virtual Tensor reduce(ReduceOp op, const std::vector<Tensor>& by_replica) = 0;
  // Whether this process writes checkpoints and logs.
  virtual bool is_chief() const { return true; }
};

// Opens the scope of a strategy, and of the device that its variables are made on, until it ends.
// Scopes nest, on one thread. Null: the scope stays as it is.
class [[nodiscard]] StrategyScope {
 public:
  explicit StrategyScope(std::shared_ptr<StrategyImpl> strategy);
  ~StrategyScope();
  StrategyScope(const StrategyScope&) = delete;
  StrategyScope& operator=(const StrategyScope&) = delete;

 private:
  bool opened_;
  std::optional<DeviceScope> device_;
};

// A cheap handle on a strategy.
class Strategy {
 public:
  explicit Strategy(std::shared_ptr<StrategyImpl> impl) : impl_(std::move(impl)) {}

  // What is made in the scope (variables, models, compile) belongs to the strategy. Models open it
  // themselves while they train, predict, are evaluated, saved and loaded.
  StrategyScope scope() const { return StrategyScope(impl_); }
  int64_t num_replicas_in_sync() const { return impl_->num_replicas_in_sync(); }
  std::string name() const { return impl_->name(); }
  bool is_chief() const { return impl_->is_chief(); }

  // Runs a step on every replica; arguments by replica, or the same structure for all.
  distribute::PerReplica run(const Function& step, const distribute::PerReplica& arguments) const;
  distribute::PerReplica run(const Function& step, const Tensors& arguments) const;
  // One value from all replicas' results.
  Tensor reduce(ReduceOp op, const distribute::PerReplica& values) const;
  std::vector<Tensors> local_results(const distribute::PerReplica& values) const {
    return values.values();
  }

  StrategyImpl& impl() const { return *impl_; }
  const std::shared_ptr<StrategyImpl>& shared() const { return impl_; }

 private:
  std::shared_ptr<StrategyImpl> impl_;
};

// The strategy of the innermost scope on this thread; the default one outside of scopes.
Strategy get_strategy();
bool has_strategy();  // inside a scope?

// A strategy of one replica on `device`.
std::shared_ptr<StrategyImpl> make_single_device_strategy(const Device& device, std::string name);

}  // namespace cornu
