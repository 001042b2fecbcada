// SPDX-License-Identifier: Apache-2.0
#include "framework/core/variable.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/core/per_thread.h"
#include "framework/core/variable_access.h"

namespace cornu {
namespace {

thread_local VariableHooks* current_hooks = nullptr;
thread_local std::optional<DType> read_dtype;
thread_local uint64_t current_number = 0;
thread_local VariableOwner* current_owner = nullptr;

std::vector<VariableReadObserver*>& read_observers() {
  return per_thread([] { return std::vector<VariableReadObserver*>(); });
}

}  // namespace

uint64_t Variable::next_number() {
  static std::atomic<uint64_t> made = 0;
  return ++made;
}

Variable::Variable(const Tensor& initial_value, const VariableOptions& options)
    : impl_(std::make_shared<Impl>()) {
  check<InvalidArgument>(initial_value.defined() && !initial_value.is_symbolic(),
                         "Variable '{}': expected an initial value, got {}. Create variables "
                         "outside of traced code, or from an initializer.",
                         options.name, initial_value);
  check<InvalidArgument>(initial_value.dtype() != DType::String,
                         "Variable '{}': expected numbers, got strings.", options.name);
  impl_->name = options.name;
  impl_->shape = initial_value.shape();
  impl_->dtype = initial_value.dtype();
  impl_->trainable = options.trainable;
  impl_->autocast = options.autocast;
  impl_->synchronization = options.synchronization;
  impl_->aggregation = options.aggregation;
  impl_->sparse_gradients = options.sparse_gradients;
  impl_->owner = current_number;
  impl_->device = home_of(initial_value);
  if (current_owner) impl_->home = current_owner->home_of(*this, initial_value);
  if (!impl_->home) impl_->value = own_handle(initial_value);
}

// The value on the variable's device in a handle of its own: tapes compare identities.
Tensor Variable::own_handle(const Tensor& value) const {
  const bool is_there = value.is_bound() && value.device().shares_memory_with(impl().device);
  Tensor own = (is_there ? value : value.to(impl().device)).with_shape(impl().shape);
  auto& state = const_cast<Tensor::Impl&>(*own.impl_);  // no other handle has it yet
  // Rows within another tensor get memory of their own, since kernels expect aligned states, and so
  // do a caller's arrays, which must not be trained.
  if (state.offset != 0 || state.buffer->is_borrowed()) state.own_memory(own.bytes());
  state.variable = impl_;
  return own;
}

Variable Variable::of_value(const Tensor& value) {
  Variable variable;
  variable.impl_ = std::static_pointer_cast<Impl>(value.impl().variable.lock());
  return variable;
}

Tensor Variable::value() const {
  const Tensor value = read();
  const bool casts = read_dtype && autocast() && is_floating(dtype()) && dtype() != *read_dtype;
  return casts ? as_dtype(value, *read_dtype) : value;
}

Tensor Variable::read() const {
  impl();
  const Tensor value = current_hooks ? current_hooks->read(*this) : stored();
  for (VariableReadObserver* observer : read_observers()) observer->on_read(*this, value);
  return value;
}

void Variable::assign(const Tensor& value) const {
  const Tensor typed = fitted(value);
  if (current_hooks) {
    current_hooks->assign(*this, typed);
  } else {
    store(typed);
  }
}

void Variable::update(const std::function<Tensor(const Tensor&)>& f) const { update(f, false); }

void Variable::update(const std::function<Tensor(const Tensor&)>& f, bool adds) const {
  if (current_hooks) {
    const Tensor typed = fitted(f(read()));
    return adds ? current_hooks->assign_sum(*this, typed) : current_hooks->assign(*this, typed);
  }
  if (home()) return store(fitted(f(stored())));
  gather();
  VariableAccess access;
  access.add(*this, true);
  access.acquire();
  access.require_healthy(0);
  Impl& state = impl();
  const Tensor before = state.value;
  for (VariableReadObserver* observer : read_observers()) observer->on_read(*this, before);
  const Tensor after = [&] {
    const RunningUpdate running(*this);
    return fitted(f(before));
  }();
  require_storable(after);
  state.value = own_handle(after);
  ++state.version;
}

void Variable::require_healthy(const std::string& poisoned) const {
  check<FailedPrecondition>(poisoned.empty(),
                            "Variable '{}': its value was lost when a step failed ({}). Load the "
                            "weights or a checkpoint before continuing.",
                            path(), poisoned);
}

std::byte* Variable::writable() const {
  Impl& state = impl();
  ++state.version;
  return state.value.writable();
}

AutocastScope::AutocastScope(std::optional<DType> dtype)
    : previous_(std::exchange(read_dtype, dtype)) {}

AutocastScope::~AutocastScope() { read_dtype = previous_; }

VariableHooksScope::VariableHooksScope(VariableHooks* hooks) : previous_(current_hooks) {
  current_hooks = hooks;
}

VariableHooksScope::~VariableHooksScope() { current_hooks = previous_; }

VariableHooks* current_variable_hooks() { return current_hooks; }

VariableOwnerScope::VariableOwnerScope(uint64_t number, VariableOwner* owner)
    : previous_number_(current_number), previous_(current_owner) {
  current_number = number;
  current_owner = owner;
}

uint64_t VariableOwnerScope::current() { return current_number; }
VariableOwner* VariableOwnerScope::owner() { return current_owner; }

VariableOwnerScope::~VariableOwnerScope() {
  current_number = previous_number_;
  current_owner = previous_;
}

void add_read_observer(VariableReadObserver* observer) { read_observers().push_back(observer); }

void remove_read_observer(VariableReadObserver* observer) {
  std::erase(read_observers(), observer);
}

}  // namespace cornu
