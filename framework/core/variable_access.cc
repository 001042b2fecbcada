// SPDX-License-Identifier: Apache-2.0
#include "framework/core/variable_access.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace cornu {
namespace {

// Guards the queues and values of all variables: it is held for some instructions only.
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

}  // namespace

// ---- single reads and writes, outside of runs ----

Tensor Variable::stored() const {
  if (is_on_read()) return combined(replica_values());
  Impl& state = impl();
  std::unique_lock lock(traffic().mutex);
  if (state.served != state.tickets) {
    const uint32_t ticket = state.tickets++;
    traffic().wait(lock, [&] { return state.served == ticket; });
    ++state.served;
    traffic().notify();
  }
  require_healthy();
  return state.value;
}

void Variable::require_storable(const Tensor& value) const {
  CORNU_ASSERT(value.shape(), ==, shape());
  CORNU_ASSERT(value.dtype(), ==, dtype());
  check<FailedPrecondition>(!value.is_symbolic(),
                            "Variable '{}': {} was assigned outside of the trace it belongs to.",
                            path(), value.to_string());
}

void Variable::store(const Tensor& value) const {
  require_storable(value);
  Impl& state = impl();
  Tensor fresh = own_handle(value);
  if (is_on_read()) take_copies();
  std::unique_lock lock(traffic().mutex);
  const uint32_t ticket = state.tickets++;
  traffic().wait(lock, [&] { return state.served == ticket; });
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

// ---- runs ----

void VariableAccess::add(const Variable& variable, bool writes) {
  CORNU_ASSERT(acquired_, ==, false);
  uses_.push_back({.variable = &variable, .writes = writes, .value = {}});
}

VariableAccess::Use& VariableAccess::first_of(const Use& use) {
  return *std::find_if(uses_.begin(), uses_.end(), [&](const Use& other) {
    return other.variable->id() == use.variable->id();
  });
}

bool VariableAccess::is_served() const {
  return std::all_of(uses_.begin(), uses_.end(), [](const Use& use) {
    return use.again || use.variable->impl().served == use.ticket;
  });
}

void VariableAccess::acquire() {
  std::unique_lock lock(traffic().mutex);
  for (Use& use : uses_) {
    Variable::Impl& state = use.variable->impl();
    if (state.asker == this) {
      use.again = true;
      if (use.writes) first_of(use).held = true;
    } else {
      state.asker = this;
      use.ticket = state.tickets++;
    }
  }
  for (const Use& use : uses_) use.variable->impl().asker = nullptr;
  traffic().wait(lock, [this] { return is_served(); });
  acquired_ = true;
  for (Use& use : uses_) {
    use.healthy = use.variable->impl().poisoned.empty();
    use.held = use.held || use.writes;
    if (!use.writes) use.value = use.variable->impl().value;
    if (!use.again && !use.held) ++use.variable->impl().served;
  }
  traffic().notify();
}

VariableAccess::~VariableAccess() {
  if (!acquired_) return;
  // Values are released under the lock: a later write in place comes after these reads.
  const std::lock_guard lock(traffic().mutex);
  for (Use& use : uses_) {
    if (!use.again && use.held) ++use.variable->impl().served;
    use.value = {};
  }
  traffic().notify();
}

std::byte* VariableAccess::memory(size_t index, const Device& device) const {
  const Use& use = uses_[index];
  if (!use.healthy) use.variable->require_healthy();
  const Variable& variable = *use.variable;
  check<FailedPrecondition>(variable.device().shares_memory_with(device),
                            "Variable '{}': it lives on {}, but the code that uses it was compiled "
                            "for {}. Make it and run the code within the same DeviceScope.",
                            variable.path(), variable.device(), device);
  return use.writes ? variable.writable() : const_cast<std::byte*>(use.value.address());
}

}  // namespace cornu
