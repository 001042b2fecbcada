// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/replicated.h"

#include <algorithm>
#include <exception>

#include "framework/core/random.h"
#include "framework/core/variable_bindings.h"
#include "framework/graph/backend.h"
#include "framework/ops/ops.h"
#include "framework/ops/register.h"

namespace cornu::distribute {
namespace {

int64_t examples_of(const std::vector<Tensors>& arguments) {
  for (const Tensors& argument : arguments) {
    for (const Tensor& tensor : argument) {
      if (tensor.defined() && tensor.rank() > 0) return tensor.dim(0);
    }
  }
  return 1;
}

// Who the replicas are, by the examples that each of them is given.
std::vector<Replica> replicas_of(const std::vector<std::vector<Tensors>>& arguments) {
  std::vector<Replica> replicas;
  int64_t first = 0;
  for (const std::vector<Tensors>& own : arguments) {
    replicas.push_back({.count = static_cast<int64_t>(arguments.size()),
                        .examples = examples_of(own),
                        .id = static_cast<int64_t>(replicas.size()),
                        .first_example = first});
    first += replicas.back().examples;
  }
  return replicas;
}

}  // namespace

// A group for the length of a run; one that has failed isn't used again.
class ReplicatedStrategy::GroupLease {
 public:
  explicit GroupLease(ReplicatedStrategy& strategy) : strategy_(strategy) {
    {
      const std::lock_guard lock(strategy_.mutex_);
      if (!strategy_.idle_groups_.empty()) {
        group_ = std::move(strategy_.idle_groups_.back());
        strategy_.idle_groups_.pop_back();
        return;
      }
    }
    group_ = strategy_.ops_.make_group(static_cast<int>(strategy_.devices_.size()));
    check<InvalidArgument>(
        group_.size() == strategy_.devices_.size() &&
            std::find(group_.begin(), group_.end(), nullptr) == group_.end(),
        "Strategy '{}': cross_device_ops '{}' made {} ends of a group for {} replicas, or empty "
        "ones. One is needed for each.",
        strategy_.name_, strategy_.ops_.name(), group_.size(), strategy_.devices_.size());
  }
  ~GroupLease() {
    if (std::uncaught_exceptions() > exceptions_) return;
    const std::lock_guard lock(strategy_.mutex_);
    strategy_.idle_groups_.push_back(std::move(group_));
  }
  GroupLease(const GroupLease&) = delete;
  GroupLease& operator=(const GroupLease&) = delete;
  CollectiveGroup* operator[](size_t rank) const { return group_[rank].get(); }

 private:
  ReplicatedStrategy& strategy_;
  Group group_;
  int exceptions_ = std::uncaught_exceptions();
};

ReplicatedStrategy::ReplicatedStrategy(std::string name, std::vector<Device> devices,
                                       CrossDeviceOps ops)
    : name_(std::move(name)), devices_(std::move(devices)), ops_(std::move(ops)) {}

void ReplicatedStrategy::require_arguments(
    const Function& step, const std::vector<std::vector<Tensors>>& arguments) const {
  check<InvalidArgument>(arguments.size() == devices_.size(),
                         "Strategy '{}': expected arguments of '{}' for {} local replicas, got {}.",
                         name_, step.options().name, devices_.size(), arguments.size());
}

std::vector<Tensors> ReplicatedStrategy::run(const Function& step,
                                             const std::vector<std::vector<Tensors>>& arguments) {
  require_arguments(step, arguments);
  if (current_tracer()) {
    throw internal::NotTraceable(fmt::format(
        "Strategy '{}': '{}' was run on {} replicas while another function was traced. Call "
        "Strategy::run outside of functions that are compiled by themselves.",
        name_, step.options().name, devices_.size()));
  }
  ops::ensure_registered();  // for what the trace itself adds
  const std::vector<Replica> replicas = replicas_of(arguments);
  const DeviceScope device(devices_.front());
  std::vector<Part> parts(devices_.size());
  bool draws = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const ReplicaScope scope(&replicas[i]);
    parts[i].function = step.compiled_for(arguments[i]);
    draws = draws || parts[i].function->has_key;
  }
  for (size_t i = 0; has_op_observers() && i < parts.size(); ++i)
    require_untaped(parts[i], arguments[i]);
  bind(parts);
  // Random numbers are those of the example's place in the batch: one key serves all.
  const std::optional<uint64_t> key = draws ? std::optional(next_key()) : std::nullopt;
  const GroupLease group(*this);
  std::vector<std::vector<Tensor>> inputs;
  std::vector<Launch> launches(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    inputs.push_back(parts[i].function->inputs(arguments[i], key, replicas[i]));
    launches[i].executable = parts[i].executable;
    launches[i].device = devices_[i];
    launches[i].inputs = inputs[i];
    launches[i].variables = parts[i].variables;
    launches[i].group = group[i];
  }
  backend_for(devices_.front()).run(launches);
  std::vector<Tensors> results;
  for (size_t i = 0; i < parts.size(); ++i) {
    results.push_back(parts[i].function->structure.with(std::move(launches[i].outputs)));
  }
  return results;
}

void ReplicatedStrategy::require_untaped(const Part& part,
                                         const std::vector<Tensors>& arguments) const {
  bool followed = is_followed({}, part.function->variables);
  for (const Tensors& argument : arguments) followed = followed || is_followed(argument.list(), {});
  check<FailedPrecondition>(!followed,
                            "Strategy '{}': a GradientTape around run doesn't see what replicas "
                            "do. Take gradients within the step.",
                            name_);
}

std::vector<Variable> ReplicatedStrategy::own_variables(const CompiledFunction& function) const {
  for (const Variable& variable : function.variables) {
    check<FailedPrecondition>(
        !variable.owner() || variable.owner() == number(),
        "Variable '{}': it was made in the scope of another strategy than '{}', whose step uses "
        "it. Make it, or the model or optimizer it belongs to, in this strategy's scope.",
        variable.path(), name_);
  }
  return VariableBindings::active() ? VariableBindings::apply(function.variables)
                                    : function.variables;
}

std::vector<Batch> ReplicatedStrategy::split(const Batch& batch) {
  const int64_t examples = cornu::examples_of(batch);
  const auto count = static_cast<int64_t>(devices_.size());
  std::vector<Batch> parts;
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t end = begin + examples / count + (i < examples % count ? 1 : 0);
    parts.push_back(rows_of(batch, begin, end));
    begin = end;
  }
  return parts;
}

Tensor ReplicatedStrategy::reduce(ReduceOp op, const std::vector<Tensor>& by_replica) {
  auto operand = [&](size_t i) {
    const Tensor& value = by_replica[i];
    check<InvalidArgument>(value.shape() == by_replica[0].shape(),
                           "Strategy '{}': reduce expected values of one shape, got {} and {}. "
                           "Reduce along an axis, or gather them.",
                           name_, by_replica[0].shape(), value.shape());
    const bool widens = op == ReduceOp::Mean && !is_floating(value.dtype());
    return widens ? ops::cast(value, DType::Float32) : value;
  };
  Tensor result = operand(0);
  for (size_t i = 1; i < by_replica.size(); ++i) {
    if (op == ReduceOp::Min) {
      result = ops::minimum(result, operand(i));
    } else if (op == ReduceOp::Max) {
      result = ops::maximum(result, operand(i));
    } else {
      result = result + operand(i);
    }
  }
  return op == ReduceOp::Mean ? result / static_cast<int64_t>(by_replica.size()) : result;
}

std::vector<Device> parse_devices(const std::string& strategy,
                                  const std::vector<std::string>& names) {
  std::vector<Device> devices;
  for (const std::string& name : names) {
    const Device device = Device::parse(name);
    check<InvalidArgument>(std::find(devices.begin(), devices.end(), device) == devices.end(),
                           "{}: expected different devices, got {} twice.", strategy, device);
    const Device first = devices.empty() ? device : devices.front();
    check<InvalidArgument>(first.type == device.type,
                           "{}: expected devices of one type, got {} and {}.", strategy, first,
                           device);
    backend_for(device);  // throws where there is none
    devices.push_back(device);
  }
  check<InvalidArgument>(!devices.empty(), "{}: expected devices, got none.", strategy);
  return devices;
}

}  // namespace cornu::distribute
