// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/replicated.h"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "framework/core/random.h"
#include "framework/core/variable_bindings.h"
#include "framework/graph/backend.h"
#include "framework/graph/devices.h"
#include "framework/ops/ops.h"
#include "framework/strategy/collective_calls.h"

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

}  // namespace

// A group for the duration of a run.
class ReplicatedStrategy::GroupLease {
 public:
  explicit GroupLease(ReplicatedStrategy& strategy)
      : strategy_(strategy), group_(strategy.take_group()) {}
  ~GroupLease() {
    if (std::uncaught_exceptions() <= exceptions_) strategy_.give_back(std::move(group_));
  }
  GroupLease(const GroupLease&) = delete;
  GroupLease& operator=(const GroupLease&) = delete;
  CollectiveGroup* operator[](size_t rank) const { return group_[rank].get(); }

 private:
  ReplicatedStrategy& strategy_;
  Group group_;
  int exceptions_ = std::uncaught_exceptions();
};

ReplicatedStrategy::Group ReplicatedStrategy::take_group() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_groups_.empty()) {
      Group group = std::move(idle_groups_.back());
      idle_groups_.pop_back();
      return group;
    }
  }
  Group group = ops_.make_group(devices_);
  check<InvalidArgument>(
      group.size() == devices_.size() &&
          std::find(group.begin(), group.end(), nullptr) == group.end(),
      "Strategy '{}': cross_device_ops '{}' made {} ends of a group for {} replicas, or empty "
      "ones. One is needed for each.",
      name_, ops_.name(), group.size(), devices_.size());
  return group;
}

void ReplicatedStrategy::give_back(Group group) {
  const std::lock_guard lock(mutex_);
  idle_groups_.push_back(std::move(group));
}

ReplicatedStrategy::ReplicatedStrategy(std::string name, std::vector<Device> devices,
                                       CrossDeviceOps ops)
    : name_(std::move(name)), devices_(std::move(devices)), ops_(std::move(ops)) {}

// Describes the replicas of this process, by the number of examples that each is given.
std::vector<Replica> ReplicatedStrategy::replicas_of(
    const std::vector<std::vector<Tensors>>& arguments) const {
  std::vector<Replica> replicas;
  int64_t first = 0;
  for (const std::vector<Tensors>& own : arguments) {
    replicas.push_back({.count = num_replicas_in_sync(),
                        .examples = examples_of(own),
                        .id = first_replica() + static_cast<int64_t>(replicas.size()),
                        .first_example = first});
    first += replicas.back().examples;
  }
  return replicas;
}

ReplicatedStrategy::Traced ReplicatedStrategy::traced(
    const Function& step, const std::vector<std::vector<Tensors>>& arguments) {
  CORNU_ASSERT(arguments.size(), ==, devices_.size());
  check<FailedPrecondition>(!current_replica(),
                            "Strategy '{}': '{}' was run within a step that each replica runs "
                            "already. Call it there as a function, {}(…), and bring what replicas "
                            "have together with distribute::get_replica_context().all_reduce.",
                            name_, step.options().name, step.options().name);
  if (current_tracer()) {
    throw internal::StartsOwnRuns(fmt::format(
        "Strategy '{}': '{}' was run on {} replicas while another function was traced. Call "
        "Strategy::run outside of functions that are compiled by themselves.",
        name_, step.options().name, num_replicas_in_sync()));
  }
  try {
    std::vector<Replica> replicas = replicas_of(arguments);
    std::exception_ptr failed;
    std::vector<Compiled> functions = compiled_for(step, arguments, replicas, failed);
    // Gathered tensors may have different sizes on each replica, and later gathers may depend on
    // those.
    while (learn_gathered(functions, replicas)) {
      functions = compiled_for(step, arguments, replicas, failed);
    }
    if (failed) std::rethrow_exception(failed);
    return {std::move(replicas), std::move(functions)};
  } catch (const std::exception& error) {
    on_untraced(step, error);
    throw;
  }
}

std::vector<Tensors> ReplicatedStrategy::run(const Function& step,
                                             const std::vector<std::vector<Tensors>>& arguments) {
  Traced made = traced(step, arguments);
  const bool communicates = std::ranges::any_of(
      made.functions, [](const Compiled& function) { return function->communicates; });
  std::vector<Tensors> results;
  const auto run_it = [&] {
    results = run_together(step, made.functions, arguments, std::move(made.replicas));
  };
  if (communicates) {
    run_step(run_it);
  } else {
    run_it();
  }
  return results;
}

std::vector<Tensors> ReplicatedStrategy::run_together(
    const Function& step, const std::vector<Compiled>& functions,
    const std::vector<std::vector<Tensors>>& arguments, std::vector<Replica> replicas) {
  const auto is = [&](bool CompiledFunction::*what) {
    return std::ranges::any_of(functions, [&](const Compiled& one) { return (*one).*what; });
  };
  // Random numbers depend on an example's position in the batch: all replicas share one key.
  std::optional<uint64_t> key;
  if (is(&CompiledFunction::has_key)) key = next_key();
  const bool communicates = is(&CompiledFunction::communicates);
  if (communicates) require_same_calls(functions);
  add_sums(replicas, functions);
  if (communicates) meet(step, replicas, key, functions);
  const std::vector<std::vector<Variable>> variables = variables_of(functions);
  std::vector<std::vector<Tensor>> inputs;
  std::vector<Launch> launches(replicas.size());
  for (size_t i = 0; i < launches.size(); ++i) {
    const DeviceScope device(home_device(i));
    inputs.push_back(functions[i]->inputs(arguments[i], key, replicas[i]));
    launches[i].executable = &code(functions[i], i);
    launches[i].device = devices_[i];
    launches[i].inputs = inputs[i];
    launches[i].variables = variables[i];
  }
  {
    const GroupLease group(*this);
    for (size_t i = 0; i < launches.size(); ++i) launches[i].group = group[i];
    const DeviceScope device(devices_.front());
    try {
      backend_for(devices_.front()).run(launches);
    } catch (RanksDiffer& error) {
      error.add_place(fmt::format("Strategy '{}': step '{}'", name_, functions.front()->name));
      throw;
    }
  }
  std::vector<Tensors> results;
  for (size_t i = 0; i < launches.size(); ++i) {
    results.push_back(functions[i]->structure.with(std::move(launches[i].outputs)));
  }
  return results;
}

// Usually all have the same function. Gathers have been compared before, and may have different
// sizes.
void ReplicatedStrategy::require_same_calls(const std::vector<Compiled>& functions) {
  const Compiled& first = functions.front();
  for (size_t i = 1; i < functions.size(); ++i) {
    if (functions[i] == first) continue;
    {
      const std::lock_guard lock(mutex_);
      if (calls_.of(functions[i]) == calls_.of(first)) continue;
    }
    distribute::require_same_calls(name_, first->name,
                                   collectives_in(first->graph, GatheredSizes::Any),
                                   collectives_in(functions[i]->graph, GatheredSizes::Any),
                                   "replica", static_cast<int64_t>(i));
  }
}

// Sums over the replicas of this process.
void ReplicatedStrategy::add_sums(std::vector<Replica>& replicas,
                                  const std::vector<Compiled>& functions) const {
  std::vector<double> sums(functions.front()->replica_sums.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    const std::vector<double>& own = functions[i]->replica_sums;
    check<RanksDiffer>(own.size() == sums.size(),
                       "Strategy '{}': step '{}' counts elements over all replicas {} times on "
                       "replica 0 and {} times on replica {}. Every replica must compute the same "
                       "losses and metrics: look for an if or a loop that a replica's number, its "
                       "data or the size of its part of the batch decides.",
                       name_, functions[i]->name, sums.size(), own.size(), i);
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += own[k];
  }
  for (Replica& replica : replicas) replica.sums = sums;
}

namespace {

// What a step gathers from all replicas, by number in the trace.
using Gathers = std::map<int64_t, Replica::Gather>;

// `failed`: if its trace failed, the gathers before the failure are recorded there.
Gathers gathers_of(const CompiledFunction* function, const Replica& failed) {
  Gathers gathers;
  if (function) {
    each_node(function->graph, [&](const Graph&, const Node& node) {
      const Attributes& attributes = node.attributes;
      if (!attributes.find("gathers")) return;
      gathers[attributes.get_int("gather")] = {attributes.get_int("axis"),
                                               attributes.get_shape("gathers")};
    });
  } else {
    for (const Replica::Gather& gather : failed.gathers) {
      gathers[static_cast<int64_t>(gathers.size())] = gather;
    }
  }
  return gathers;
}

// Whether values of these shapes can be concatenated along the axis.
bool fit_along(int64_t axis, const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

std::vector<ReplicatedStrategy::Compiled> ReplicatedStrategy::compiled_for(
    const Function& step, const std::vector<std::vector<Tensors>>& arguments,
    const std::vector<Replica>& replicas, std::exception_ptr& failed) const {
  std::vector<Compiled> functions(replicas.size());
  failed = nullptr;
  for (size_t i = 0; i < replicas.size(); ++i) {
    replicas[i].gathers.clear();
    const DeviceScope device(home_device(i));
    const ReplicaScope scope(&replicas[i]);
    try {
      functions[i] = step.compiled_for(arguments[i]);
    } catch (const Error&) {  // maybe due to sizes that aren't known yet
      if (replicas[i].gathers.empty()) throw;
      if (!failed) failed = std::current_exception();
      continue;
    }
    if (has_op_observers()) require_untaped(*functions[i], arguments[i]);
  }
  return functions;
}

// Replicas whose parts of a batch differ in size run separate graphs. Returns whether what they
// gather has other sizes than these graphs were traced for, and records the sizes in `replicas`.
bool ReplicatedStrategy::learn_gathered(const std::vector<Compiled>& functions,
                                        std::vector<Replica>& replicas) const {
  const bool have_failed = std::ranges::any_of(functions, [](const Compiled& one) { return !one; });
  const auto differs = [&](const Compiled& one) { return one != functions[0]; };
  if (!have_failed && std::ranges::none_of(functions, differs)) return false;
  std::vector<Gathers> by_replica;
  for (size_t i = 0; i < functions.size(); ++i) {
    by_replica.push_back(gathers_of(functions[i].get(), replicas[i]));
    // The run reports where calls differ.
    if (!have_failed && by_replica[i].size() != by_replica[0].size()) return false;
  }
  const bool may_differ = static_cast<int64_t>(functions.size()) == num_replicas_in_sync();
  std::vector<std::vector<int64_t>> sizes;
  for (const auto& [number, first] : by_replica[0]) {
    std::vector<int64_t> all;
    for (size_t i = 0; i < by_replica.size(); ++i) {
      const auto found = by_replica[i].find(number);
      if (found == by_replica[i].end()) break;
      const Replica::Gather& other = found->second;
      const bool fits = other.axis == first.axis && fit_along(first.axis, first.own, other.own);
      check<InvalidArgument>(first.own == other.own || (fits && may_differ),
                             "Strategy '{}': all_gather along axis {} expected {}, got {} on "
                             "replica 0 and {} on replica {}. Pad them to one size in the step, or "
                             "return them and join them outside of it with Strategy::gather.",
                             name_, first.axis,
                             may_differ ? "shapes that differ along this axis alone"
                                        : "tensors of one shape on the replicas of all processes",
                             first.own, other.own, i);
      all.push_back(other.own[first.axis]);
    }
    if (all.size() < by_replica.size()) break;  // known for some replicas only
    sizes.resize(static_cast<size_t>(number) + 1);
    const bool alike = std::ranges::all_of(all, [&](int64_t size) { return size == all[0]; });
    if (!alike) sizes.back() = std::move(all);
  }
  if (std::ranges::all_of(sizes, [](const auto& of_one) { return of_one.empty(); })) sizes.clear();
  if (sizes == replicas[0].gathered) return false;
  for (Replica& replica : replicas) replica.gathered = sizes;
  return true;
}

void ReplicatedStrategy::require_untaped(const CompiledFunction& function,
                                         const std::vector<Tensors>& arguments) const {
  bool followed = is_followed({}, function.variables);
  for (const Tensors& argument : arguments) followed = followed || is_followed(argument.list(), {});
  check<FailedPrecondition>(!followed,
                            "Strategy '{}': a GradientTape around run doesn't see what replicas "
                            "do. Take gradients within the step.",
                            name_);
}

// A function's variables, as bound in this thread.
std::vector<Variable> ReplicatedStrategy::own_variables(const CompiledFunction& function) const {
  for (const Variable& variable : function.variables) {
    check<FailedPrecondition>(
        !variable.owner() || variable.owner() == number(),
        "Variable '{}' was made in the scope of another strategy than '{}', whose step uses it. "
        "Make it, or the model or optimizer it belongs to, in this strategy's scope. (It belongs "
        "to strategy number {} of this program, and the step was run by number {}. Copies of a "
        "strategy are the same one; another object of the same name isn't.)",
        variable.path(), name_, variable.owner(), number());
  }
  return VariableBindings::apply(function.variables);
}

// The variables that each replica binds to its function. Usually all have the same one.
std::vector<std::vector<Variable>> ReplicatedStrategy::variables_of(
    const std::vector<Compiled>& functions) const {
  std::vector<std::vector<Variable>> result(functions.size());
  std::vector<bool> done(functions.size(), false);
  for (size_t i = 0; i < functions.size(); ++i) {
    if (done[i]) continue;
    std::vector<std::vector<Variable>> divided = divide(own_variables(*functions[i]));
    for (size_t k = i; k < functions.size(); ++k) {
      if (functions[k] != functions[i]) continue;
      result[k] = std::move(divided[k]);
      done[k] = true;
    }
  }
  return result;
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

Tensor ReplicatedStrategy::reduce(ReduceOp op, const std::vector<Tensor>& by_replica,
                                  const std::string&) {
  std::vector<Tensor> values = by_replica;
  if (devices_.front().type != DeviceType::Cpu) bring_to(devices_.front(), values);
  auto operand = [&](size_t i) -> const Tensor& {
    const Tensor& value = values[i];
    check<InvalidArgument>(value.shape() == by_replica[0].shape(),
                           "Strategy '{}': reduce expected values of one shape, got {} and {}. "
                           "Reduce along an axis, or gather them.",
                           name_, by_replica[0].shape(), value.shape());
    return value;
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
  if (names.empty()) {
    std::vector<std::string> all;
    for (const config::PhysicalDevice& gpu : config::list_physical_devices(DeviceType::Gpu)) {
      all.push_back(fmt::format("GPU:{}", gpu.index));
    }
    return parse_devices(strategy, all.empty() ? std::vector<std::string>{"CPU:0"} : all);
  }
  std::vector<Device> devices;
  for (const std::string& name : names) {
    const Device device = Device::parse(name);
    check<InvalidArgument>(std::find(devices.begin(), devices.end(), device) == devices.end(),
                           "{}: expected different devices, got {} twice.", strategy, device);
    const Device first = devices.empty() ? device : devices.front();
    check<InvalidArgument>(first.type == device.type,
                           "{}: expected devices of one type, got {} and {}.", strategy, first,
                           device);
    backend_for(device);  // throws if there is none
    devices.push_back(device);
  }
  return devices;
}

}  // namespace cornu::distribute
