// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/strategy.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "framework/core/per_thread.h"
#include "framework/core/user_code.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/reduce_op.h"
#include "framework/ops/ops.h"
#include "framework/strategy/exchange_tensors.h"
#include "framework/strategy/scheduled_step.h"

namespace cornu {
namespace {

using Scopes = std::vector<std::shared_ptr<StrategyImpl>>;
Scopes& scopes() {
  return per_thread([] { return Scopes(); });
}
thread_local bool alone = false;

class SingleDeviceStrategy : public StrategyImpl {
 public:
  // Without a device, functions run wherever they would without a strategy.
  SingleDeviceStrategy(const std::optional<Device>& device, std::string name, bool is_default)
      : device_(device), name_(std::move(name)), is_default_(is_default) {}

  std::string name() const override { return name_; }
  int64_t num_replicas_in_sync() const override { return 1; }
  std::vector<Device> devices() const override { return {device_.value_or(default_device())}; }
  std::optional<Device> variable_device() const override { return device_; }
  bool is_default() const override { return is_default_; }

  std::vector<Tensors> run(const Function& step,
                           const std::vector<std::vector<Tensors>>& arguments) override {
    CORNU_ASSERT(arguments.size(), ==, size_t{1});
    std::optional<DeviceScope> scope;
    if (device_) scope.emplace(*device_);
    const Replica only;
    const ReplicaScope in_step(is_default_ ? current_replica() : &only);
    std::vector<Tensors> results;
    results.push_back(step.run(arguments[0]));
    return results;
  }

  std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) override {
    return source;
  }
  std::vector<Batch> split(const Batch& batch) override { return {batch}; }
  Tensor reduce(ReduceOp, const std::vector<Tensor>& by_replica, const std::string&) override {
    return by_replica.front();
  }

 private:
  std::optional<Device> device_;
  std::string name_;
  bool is_default_;
};

// One for each device, for the lifetime of the program: callers keep references to it.
std::shared_ptr<StrategyImpl> default_of(const std::optional<Device>& device) {
  static auto* mutex = new std::mutex;
  static auto* made = new std::map<std::string, std::shared_ptr<StrategyImpl>>;
  const std::lock_guard lock(*mutex);
  std::shared_ptr<StrategyImpl>& strategy = (*made)[device ? device->to_string() : ""];
  if (!strategy) strategy = std::make_shared<SingleDeviceStrategy>(device, "default", true);
  return strategy;
}

// If replicas have their own memory, values are brought to the first one's device.
void bring_to_first(const StrategyImpl& strategy, std::vector<Tensor>& values) {
  const Device first = strategy.devices().front();
  if (first.type != DeviceType::Cpu) bring_to(first, values);
}

// If this worker finds an error in its own values, notifies the other workers, which are waiting
// for it. (For errors in a step's body, the code that runs the step does that.)
template <class Body>
auto told_to_others(StrategyImpl& strategy, const std::string& before, const Body& body) {
  if (current_replica()) return body();
  try {
    return body();
  } catch (const std::exception& error) {
    strategy.tell_of_failure(error, before);
    throw;
  }
}

constexpr char kCantReduce[] = "can't reduce its values";
constexpr char kCantGather[] = "can't gather its values";

// The replicas' values reduced along an axis, to be reduced further over the replicas.
struct Parts {
  std::vector<Tensor> values;  // for a mean: sums
  std::vector<Tensor> counts;  // for sums and means: number of elements
};

// `all`: include parts without elements, which have no extreme.
Parts parts_along(int64_t axis, ReduceOp op, const std::vector<Tensor>& own, bool all) {
  Parts parts;
  for (const Tensor& x : own) {
    if (op == ReduceOp::Sum || op == ReduceOp::Mean) {
      parts.values.push_back(ops::sum(x, axis));
      parts.counts.push_back(Tensor::scalar(static_cast<double>(x.dim(axis))));
    } else if (x.dim(axis) > 0 || all) {
      parts.values.push_back(op == ReduceOp::Min ? ops::min(x, axis) : ops::max(x, axis));
    }
  }
  return parts;
}

std::vector<Tensor> operands_of(ReduceOp op, const std::vector<Tensor>& values) {
  std::vector<Tensor> operands;
  for (const Tensor& value : values) operands.push_back(operand_of_reduction(op, value));
  return operands;
}

// Requires that the replicas' values differ in shape only along the axis.
void require_alike_but_along(int64_t axis, const std::vector<Tensor>& values,
                             const std::string& who, const char* scalar_advice) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Shape& shape = values[i].shape();
    check<InvalidArgument>(!shape.empty(),
                           "{} along axis {} expected tensors with axes, got a scalar of replica "
                           "{}. {}",
                           who, axis, i, scalar_advice);
    const Shape& first = values[0].shape();
    const auto along = static_cast<int64_t>(first.normalize_axis(axis, who));
    bool fits = shape.rank() == first.rank();
    for (int64_t k = 0; fits && k < shape.rank(); ++k) fits = k == along || shape[k] == first[k];
    check<InvalidArgument>(fits,
                           "{} along axis {} expected shapes that differ along this axis alone, "
                           "got {} of replica 0 and {} of replica {}.",
                           who, axis, first, shape, i);
  }
}

}  // namespace

StrategyScope::StrategyScope(std::shared_ptr<StrategyImpl> strategy)
    : opened_(strategy != nullptr),
      owner_(strategy ? strategy->number() : VariableOwnerScope::current(),
             strategy ? strategy.get() : VariableOwnerScope::owner()) {
  if (!opened_) return;
  if (const auto device = strategy->variable_device()) device_.emplace(*device);
  scopes().push_back(std::move(strategy));
}
StrategyScope::~StrategyScope() {
  // At the end of the process, a static scope ends after the list that it was in.
  if (opened_ && !scopes().empty()) scopes().pop_back();
}

RunsAlone::RunsAlone() : previous_(std::exchange(alone, true)) {}
RunsAlone::~RunsAlone() { alone = previous_; }
bool runs_alone() { return alone; }

std::shared_ptr<StrategyImpl> make_single_device_strategy(const Device& device, std::string name) {
  return std::make_shared<SingleDeviceStrategy>(device, std::move(name), false);
}

bool has_strategy() { return !scopes().empty(); }

StrategyImpl::StrategyImpl()
    : number_([] {
        static std::atomic<uint64_t> made = 0;
        return ++made;
      }()) {}

Strategy get_strategy() {
  if (has_strategy()) return Strategy(scopes().back());
  // A strategy that is kept stays on the device of the scope in which it was requested.
  const auto device = has_device_scope() ? std::optional(default_device()) : std::nullopt;
  return Strategy(default_of(device));
}

StrategyScope Strategy::scope() const {
  check<FailedPrecondition>(!has_strategy() || scopes().back() == impl_,
                            "Strategy '{}': its scope was opened in that of another strategy, "
                            "'{}'{}. End that one first: what is made in a scope belongs to one "
                            "strategy.",
                            name(), has_strategy() ? scopes().back()->name() : "",
                            has_strategy() && scopes().back()->name() == name()
                                ? ", which has the same name, but was made by itself"
                                : "");
  check<FailedPrecondition>(!current_replica(),
                            "Strategy '{}': its scope was opened within a step that replicas run. "
                            "Open it outside.",
                            name());
  return StrategyScope(impl_);
}

distribute::PerReplica Strategy::run(const Function& step,
                                     const distribute::PerReplica& arguments) const {
  const size_t replicas = impl().devices().size();
  if (arguments.size() != replicas) {
    told_to_others(impl(), fmt::format("can't run the step '{}'", step.options().name), [&] {
      raise<InvalidArgument>("Strategy '{}': expected arguments for {} local replicas, got {}.",
                             name(), replicas, arguments.size());
    });
  }
  // Steps may also run outside of the scope.
  const StrategyScope scope(impl().is_default() ? nullptr : impl_);
  std::vector<std::vector<Tensors>> by_replica;
  for (size_t i = 0; i < replicas; ++i) by_replica.push_back(arguments.arguments(i));
  return distribute::PerReplica(impl().run(step, by_replica));
}

distribute::PerReplica Strategy::run(const Function& step, const Tensors& arguments) const {
  return run(step,
             distribute::PerReplica(std::vector<Tensors>(impl().devices().size(), arguments)));
}

// Within a merge_call, or a scheduled step, only this replica's value is available; the others are
// elsewhere.
bool Strategy::is_merging(const char* call, const char* within_step,
                          const distribute::PerReplica& values) const {
  check<FailedPrecondition>(
      !current_replica() || distribute::in_cross_replica_context() || ScheduledStepScope::is_open(),
      "Strategy '{}': {} was called within a step that each replica runs. "
      "Use distribute::get_replica_context().{} there.",
      name(), call, within_step);
  check<InvalidArgument>(values.size() > 0,
                         "Strategy '{}': {} expected the values of replicas, what Strategy::run "
                         "returned, got an empty PerReplica.",
                         name(), call);
  for (const Tensors& value : values.values()) {
    check<InvalidArgument>(value.size() == 1,
                           "Strategy '{}': {} expected a tensor of each replica, got {}. {}",
                           name(), call, value.size(),
                           value.empty() ? "Let the step return what is to be reduced."
                                         : "Choose one: values.at(place) or values.at(name).");
  }
  const size_t expected = current_replica() ? 1 : impl().devices().size();
  check<InvalidArgument>(values.size() == expected,
                         "Strategy '{}': {} expected the values of {} local replicas, got {}.",
                         name(), call, expected, values.size());
  return current_replica() != nullptr;
}

Tensor Strategy::reduce(ReduceOp op, const distribute::PerReplica& values,
                        std::optional<int64_t> axis) const {
  bool merges = false;
  std::vector<Tensor> own;
  Parts parts;
  std::string call = fmt::format("reduce ({})", name_of(op));
  told_to_others(impl(), kCantReduce, [&] {
    merges = is_merging("reduce", "all_reduce", values);
    for (const Tensors& value : values.values()) own.push_back(value.single());
    if (op == ReduceOp::Mean) call += fmt::format(" of {}", own[0].dtype());
    // The sum for a mean may exceed the range of the values' dtype.
    parts.values = own;
    for (Tensor& x : parts.values) {
      if (op == ReduceOp::Mean && is_half(x.dtype())) x = ops::cast(x, DType::Float32);
    }
    if (axis) {
      const std::string who = fmt::format("Strategy '{}': reduce", name());
      require_alike_but_along(*axis, own, who, "Omit the axis.");
      call += fmt::format(" along axis {}", own[0].shape().normalize_axis(*axis, who));
      parts = parts_along(*axis, op, parts.values, merges);
    }
    check<InvalidArgument>(!parts.values.empty() || impl().num_workers() > 1,
                           "Strategy '{}': reduce expected elements, got none.", name());
  });
  const auto over_replicas = [&](ReduceOp over, const std::vector<Tensor>& operands,
                                 const std::string& what) {
    if (merges) {
      return distribute::ReplicaContext(replicas_in_sync()).all_reduce(over, operands.front());
    }
    try {
      return impl().reduce(
          over, told_to_others(impl(), kCantReduce, [&] { return operands_of(over, operands); }),
          what);
    } catch (ValuesDiffer& error) {
      if (axis) {
        error.add_advice(fmt::format(
            "These are what is left of the reduction along axis {}; replica 0 of worker {} gave "
            "values of shape {}.",
            *axis, impl().worker(), own[0].shape()));
      }
      throw;
    }
  };
  Tensor result;
  if (axis && op == ReduceOp::Mean) {
    const Tensor sum = over_replicas(ReduceOp::Sum, parts.values, call);
    const Tensor count = over_replicas(ReduceOp::Sum, parts.counts, call + ": elements");
    result = sum / ops::cast(count, is_floating(sum.dtype()) ? sum.dtype() : DType::Float32);
  } else {
    result = over_replicas(op, parts.values, call);
  }
  const DType dtype = own[0].dtype();
  return op == ReduceOp::Mean && is_half(dtype) ? ops::cast(result, dtype) : result;
}

Tensor Strategy::gather(const distribute::PerReplica& values, int64_t axis) const {
  const bool merges = told_to_others(impl(), kCantGather,
                                     [&] { return is_merging("gather", "all_gather", values); });
  if (merges) {
    return distribute::ReplicaContext(replicas_in_sync()).all_gather(values[0].single(), axis);
  }
  const size_t local = values.size();
  const std::string call = fmt::format("gather along axis {}", axis);
  std::vector<Tensor> parts(local * static_cast<size_t>(impl().num_workers()));
  for (size_t i = 0; i < local; ++i) {
    const Tensor& own = values[i].single();
    const std::vector<Tensor> all =
        impl().num_workers() == 1 ? std::vector<Tensor>{own} : exchange_tensors(impl(), own, call);
    for (size_t worker = 0; worker < all.size(); ++worker) parts[worker * local + i] = all[worker];
  }
  require_alike_but_along(axis, parts, fmt::format("Strategy '{}': gather", name()),
                          "Reduce scalars instead, or give them an axis (ops::expand_dims(x, 0)).");
  bring_to_first(impl(), parts);
  return parts.size() == 1 ? parts[0] : ops::concatenate(parts, axis);
}

distribute::DistributedDataset Strategy::distribute_dataset(
    const std::shared_ptr<BatchSource>& dataset) const {
  check<InvalidArgument>(dataset != nullptr,
                         "Strategy '{}': distribute_dataset expected a dataset, got none.", name());
  return distribute::DistributedDataset::of_global(impl_, dataset);
}

distribute::DistributedDataset Strategy::distribute_parts(
    std::shared_ptr<BatchSource> dataset) const {
  check<InvalidArgument>(dataset != nullptr,
                         "Strategy '{}': distribute_datasets_from_function expected a function "
                         "that makes a dataset, got none from it.",
                         name());
  return distribute::DistributedDataset::of_replicas(impl_, std::move(dataset));
}

distribute::InputContext Strategy::input_context() const {
  return {.num_input_pipelines = impl().num_workers(),
          .input_pipeline_id = impl().worker(),
          .num_replicas_in_sync = num_replicas_in_sync()};
}

distribute::PerReplica Strategy::distribute_values_from_function(
    const std::function<Tensors(const distribute::ValueContext&)>& make) const {
  given_function(make, "distribute_values_from_function");
  std::vector<Tensors> values;
  const auto local = static_cast<int64_t>(impl().devices().size());
  for (int64_t i = 0; i < local; ++i) {
    values.push_back(make({.replica_id_in_sync_group = impl().worker() * local + i,
                           .num_replicas_in_sync = num_replicas_in_sync()}));
  }
  return distribute::PerReplica(std::move(values));
}

}  // namespace cornu
