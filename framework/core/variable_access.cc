// SPDX-License-Identifier: Apache-2.0
#include "framework/core/variable_access.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "framework/core/zeros.h"

namespace cornu {
namespace {

// Guards the queues and values of all variables; held only for a few instructions.
struct Traffic {
  std::mutex mutex;
  std::condition_variable changed;
  int waiting = 0;

  template <class Predicate>
  void wait(std::unique_lock<std::mutex>& lock, const Predicate& served) {
    if (served()) return;
    ++waiting;
    changed.wait(lock, served);
    --waiting;
  }
  void notify() {
    if (waiting > 0) changed.notify_all();
  }
};

Traffic& traffic() {
  static auto* traffic = new Traffic;
  return *traffic;
}

thread_local const RunningUpdate* innermost_update = nullptr;

}  // namespace

RunningUpdate::RunningUpdate(const Variable& variable)
    : variable_(variable), outer_(std::exchange(innermost_update, this)) {}

RunningUpdate::~RunningUpdate() { innermost_update = outer_; }

void RunningUpdate::require_none(const Variable& variable) {
  for (const RunningUpdate* update = innermost_update; update; update = update->outer_) {
    check<FailedPrecondition>(update->variable_.id() != variable.id(),
                              "Variable '{}': the function of its update uses the variable itself, "
                              "which isn't free before the update ends. Use the function's "
                              "argument, its value.",
                              variable.path());
  }
}

// ---- single reads and writes, outside of runs ----

Tensor Variable::stored() const {
  if (home()) {
    const Variable* const self = this;
    return home()->read({&self, 1}).front().value;
  }
  if (is_on_read()) return combined(replica_values());
  Impl& state = impl();
  std::unique_lock lock(traffic().mutex);
  if (state.served != state.tickets) {
    RunningUpdate::require_none(*this);
    const uint32_t ticket = state.tickets++;
    traffic().wait(lock, [&] { return state.served == ticket; });
    ++state.served;
    traffic().notify();
  }
  require_healthy(state.poisoned);
  return state.value;
}

void Variable::require_storable(const Tensor& value) const {
  CORNU_ASSERT(value.shape(), ==, shape());
  CORNU_ASSERT(value.dtype(), ==, dtype());
  check<FailedPrecondition>(!value.is_symbolic(),
                            "Variable '{}': {} was assigned outside of the trace it belongs to.",
                            path(), value);
}

void Variable::store(const Tensor& value) const {
  require_storable(value);
  if (home()) return home()->write(*this, value.host());
  Impl& state = impl();
  RunningUpdate::require_none(*this);
  Tensor fresh = own_handle(value);
  std::unique_lock lock(traffic().mutex);
  const uint32_t ticket = state.tickets++;
  traffic().wait(lock, [&] { return state.served == ticket; });
  if (is_on_read()) {
    for (const Variable& copy : copies()) copy.impl().version = Impl::kNoValue;
  }
  std::swap(state.value, fresh);
  state.poisoned.clear();
  ++state.version;
  ++state.served;
  traffic().notify();
}

void Variable::poison(const std::string& why) const {
  const std::lock_guard lock(traffic().mutex);
  impl().poisoned = why;
  ++impl().version;
}

void VariableAccess::poison_where(const Variable& variable,
                                  const std::function<bool(const Tensor& value)>& spoilt,
                                  const std::string& why) {
  const std::lock_guard lock(traffic().mutex);
  Variable::Impl& state = variable.impl();
  const std::shared_ptr<Variable::Impl> original = state.original.lock();
  if (original && !Variable::is_settled(*original, state)) return;
  const bool is_written = state.served != state.tickets;
  if (!is_written && !spoilt(state.value)) return;
  state.poisoned = why;
  ++state.version;
}

// ---- runs ----

void VariableAccess::add(const Variable& variable, bool writes) {
  CORNU_ASSERT(acquired_, ==, false);
  uses_.push_back({.variable = &variable, .writes = writes, .value = {}, .poisoned = {}});
}

bool VariableAccess::is_served() const {
  return std::all_of(uses_.begin(), uses_.end(), [](const Use& use) {
    return use.elsewhere || use.again || use.variable->impl().served == use.ticket;
  });
}

// Reads the values that other processes keep, with one request per keeper. Nobody in this process
// waits for them.
void VariableAccess::fetch() {
  std::map<const void*, std::vector<Use*>> by_keeper;
  for (Use& use : uses_) {
    const Variable& variable = *use.variable;
    use.elsewhere = variable.home() != nullptr;
    if (!use.elsewhere) continue;
    check<FailedPrecondition>(
        !use.writes,
        "Variable '{}': parameter servers keep it, and this step, which "
        "writes it, was called here. Give it to ClusterCoordinator::schedule.",
        variable.path());
    by_keeper[variable.home()->keeper()].push_back(&use);
  }
  for (const auto& [keeper, uses] : by_keeper) {
    std::vector<const Variable*> variables;
    for (const Use* use : uses) variables.push_back(use->variable);
    const std::vector<VariableHome::Value> found = variables[0]->home()->read(variables);
    CORNU_ASSERT(found.size(), ==, uses.size());
    for (size_t i = 0; i < uses.size(); ++i) {
      uses[i]->value = variables[i]->own_handle(found[i].value);
      uses[i]->version = found[i].version;
    }
  }
}

void VariableAccess::acquire() {
  for (const Use& use : uses_) RunningUpdate::require_none(*use.variable);
  fetch();
  std::unique_lock lock(traffic().mutex);
  for (Use& use : uses_) {
    if (use.elsewhere) continue;
    Variable::Impl& state = use.variable->impl();
    use.again = state.use != nullptr;
    if (use.again) {
      if (use.writes) static_cast<Use*>(state.use)->held = true;
    } else {
      state.use = &use;
      use.ticket = state.tickets++;
    }
  }
  // A request that writes a copy also holds the original, whose version tells which copies are up
  // to date.
  for (Use& use : uses_) {
    const auto original = use.variable->impl().original.lock();
    use.original = original ? static_cast<Use*>(original->use) : nullptr;
    if (use.original && use.writes) use.original->held = true;
  }
  for (const Use& use : uses_) use.variable->impl().use = nullptr;
  traffic().wait(lock, [this] { return is_served(); });
  acquired_ = true;
  for (Use& use : uses_) look_at(use);
  traffic().notify();
  lock.unlock();
  for (Use& use : uses_) {
    if (use.stale && use.poisoned.empty()) bring_up_to_date(use);
  }
}

// Records the state at the moment when all tickets are served.
void VariableAccess::look_at(Use& use) const {
  if (use.elsewhere) return;
  Variable::Impl& state = use.variable->impl();
  const Variable::Impl* source = &state;
  if (use.original && !Variable::is_settled(use.original->variable->impl(), state)) {
    use.stale = true;
    source = &use.original->variable->impl();
  }
  use.poisoned = source->poisoned;
  use.version = source->version;
  use.held = use.held || use.writes;
  if (!use.writes || use.stale) use.value = source->value;
  if (!use.again && !use.held) ++state.served;
}

// A copy that is only read is left unchanged: others may be reading it.
void VariableAccess::bring_up_to_date(Use& use) {
  const Variable::Impl& original = use.original->variable->impl();
  const bool adds = original.synchronization == VariableSynchronization::OnRead &&
                    original.aggregation == VariableAggregation::Sum;
  const Tensor value = use.variable->own_handle(adds ? host_zeros(original.shape, original.dtype)
                                                     : std::exchange(use.value, {}));
  if (!use.writes) {
    use.value = value;
    return;
  }
  Variable::Impl& state = use.variable->impl();
  state.value = value;
  const std::lock_guard lock(traffic().mutex);
  state.poisoned.clear();
  state.version = original.version.load();
}

VariableAccess::~VariableAccess() {
  if (!acquired_) return;
  // Values are released under the lock, so that a later write in place happens after these reads.
  // Values on other devices are released after it, since a device may be locked by someone who
  // waits for this lock.
  std::vector<Tensor> elsewhere;
  const std::lock_guard lock(traffic().mutex);
  for (Use& use : uses_) {
    if (!use.again && use.held && !use.elsewhere) ++use.variable->impl().served;
    if (use.value.defined() && !use.value.on_host()) elsewhere.push_back(std::move(use.value));
    use.value = {};
  }
  traffic().notify();
}

void VariableAccess::require_healthy(size_t index) const {
  const Use& use = uses_[index];
  (use.stale ? use.original : &use)->variable->require_healthy(use.poisoned);
}

void VariableAccess::require_usable(size_t index, const Device& device) const {
  require_healthy(index);
  const Use& use = uses_[index];
  const Variable& variable = *use.variable;
  check<FailedPrecondition>(variable.device().shares_memory_with(device),
                            "Variable '{}': it lives on {}, but the code that uses it was compiled "
                            "for {}. Make it and run the code within the same DeviceScope.",
                            variable.path(), variable.device(), device);
}

std::byte* VariableAccess::memory(size_t index, const Device& device) const {
  require_usable(index, device);
  const Use& use = uses_[index];
  return use.writes ? use.variable->writable() : const_cast<std::byte*>(use.value.address());
}

const Tensor& VariableAccess::current(size_t index, const Device& device) const {
  require_usable(index, device);
  const Use& use = uses_[index];
  return use.writes ? use.variable->impl().value : use.value;
}

void VariableAccess::replace(size_t index, const Tensor& value) const {
  const Use& use = uses_[index];
  CORNU_ASSERT(use.writes, ==, true);
  Variable::Impl& state = use.variable->impl();
  state.value = use.variable->own_handle(value);
  ++state.version;
}

const Tensor& VariableAccess::value(size_t index) const {
  require_healthy(index);
  return uses_[index].value;
}

}  // namespace cornu
