// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/strategy.h"

#include "framework/graph/dispatch.h"
#include "framework/ops/ops.h"

namespace cornu {
namespace {

thread_local std::vector<std::shared_ptr<StrategyImpl>> scopes;

class SingleDeviceStrategy : public StrategyImpl {
 public:
  // Without a device, functions run where they do by themselves.
  SingleDeviceStrategy(const std::optional<Device>& device, std::string name)
      : device_(device), name_(std::move(name)) {}

  std::string name() const override { return name_; }
  int64_t num_replicas_in_sync() const override { return 1; }
  std::vector<Device> devices() const override { return {device_.value_or(default_device())}; }
  std::optional<Device> variable_device() const override { return device_; }

  std::vector<Tensors> run(const Function& step,
                           const std::vector<std::vector<Tensors>>& arguments) override {
    CORNU_ASSERT(arguments.size(), ==, size_t{1});
    std::optional<DeviceScope> scope;
    if (device_) scope.emplace(*device_);
    std::vector<Tensors> results;
    results.push_back(step.run(arguments[0]));
    return results;
  }

  std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) override {
    return source;
  }
  std::vector<Batch> split(const Batch& batch) override { return {batch}; }
  Tensor reduce(ReduceOp, const std::vector<Tensor>& by_replica) override {
    return by_replica.front();
  }

 private:
  std::optional<Device> device_;
  std::string name_;
};

const char* reduce_name(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
      return "sum";
    case ReduceOp::Mean:
      return "mean";
    case ReduceOp::Min:
      return "min";
    case ReduceOp::Max:
      return "max";
  }
  return "sum";
}

}  // namespace

namespace distribute {

Tensor ReplicaContext::all_reduce(ReduceOp op, const Tensor& value) const {
  return all_reduce(op, std::vector<Tensor>{value}).front();
}

std::vector<Tensor> ReplicaContext::all_reduce(ReduceOp op,
                                               const std::vector<Tensor>& values) const {
  if (replicas_ == 1) return values;
  return ops::all_reduce(values, reduce_name(op));
}

ReplicaContext get_replica_context() { return ReplicaContext(replicas_in_sync()); }

int64_t InputContext::get_per_replica_batch_size(int64_t global_batch_size) const {
  check<InvalidArgument>(global_batch_size % num_replicas_in_sync == 0,
                         "InputContext: expected a global batch size divisible by {} replicas, got "
                         "{}.",
                         num_replicas_in_sync, global_batch_size);
  return global_batch_size / num_replicas_in_sync;
}

}  // namespace distribute

StrategyScope::StrategyScope(std::shared_ptr<StrategyImpl> strategy)
    : opened_(strategy != nullptr) {
  if (!opened_) return;
  if (const auto device = strategy->variable_device()) device_.emplace(*device);
  scopes.push_back(std::move(strategy));
}
StrategyScope::~StrategyScope() {
  if (opened_) scopes.pop_back();
}

std::shared_ptr<StrategyImpl> make_single_device_strategy(const Device& device, std::string name) {
  return std::make_shared<SingleDeviceStrategy>(device, std::move(name));
}

bool has_strategy() { return !scopes.empty(); }

Strategy get_strategy() {
  if (has_strategy()) return Strategy(scopes.back());
  // Who keeps it goes on where the scope was in which he asked.
  if (has_device_scope()) {
    return Strategy(make_single_device_strategy(default_device(), "default"));
  }
  static const auto* standard = new std::shared_ptr<StrategyImpl>(
      std::make_shared<SingleDeviceStrategy>(std::nullopt, "default"));
  return Strategy(*standard);
}

distribute::PerReplica Strategy::run(const Function& step,
                                     const distribute::PerReplica& arguments) const {
  const size_t replicas = impl_->devices().size();
  check<InvalidArgument>(arguments.size() == replicas,
                         "Strategy '{}': expected arguments for {} local replicas, got {}.", name(),
                         replicas, arguments.size());
  std::vector<std::vector<Tensors>> by_replica;
  for (const Tensors& values : arguments.values()) by_replica.push_back({values});
  return distribute::PerReplica(impl_->run(step, by_replica));
}

distribute::PerReplica Strategy::run(const Function& step, const Tensors& arguments) const {
  return run(step,
             distribute::PerReplica(std::vector<Tensors>(impl_->devices().size(), arguments)));
}

Tensor Strategy::reduce(ReduceOp op, const distribute::PerReplica& values) const {
  std::vector<Tensor> by_replica;
  for (const Tensors& value : values.values()) by_replica.push_back(value.single());
  return impl_->reduce(op, by_replica);
}

}  // namespace cornu
