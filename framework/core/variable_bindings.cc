// SPDX-License-Identifier: Apache-2.0
#include "framework/core/variable_bindings.h"

namespace cornu {
namespace {

thread_local VariableBindings* current = nullptr;

}  // namespace

VariableBindings::VariableBindings(std::function<bool(const Variable&)> belongs,
                                   std::function<void()> reset)
    : belongs_(std::move(belongs)),
      reset_(std::move(reset)),
      outer_(current_variable_hooks()),
      previous_(current),
      hooks_(this) {
  current = this;
}

VariableBindings::~VariableBindings() { current = previous_; }

const Variable* VariableBindings::copy_of(const Variable& variable) {
  const auto [it, is_new] = copies_.try_emplace(variable.id());
  if (is_new && belongs_(variable)) {
    it->second.emplace(variable.stored(),
                       VariableOptions{.name = variable.name(),
                                       .trainable = variable.trainable(),
                                       .autocast = variable.autocast(),
                                       .synchronization = variable.synchronization(),
                                       .aggregation = variable.aggregation(),
                                       .sparse_gradients = variable.sparse_gradients()});
    has_new_ = true;
  }
  return it->second ? &*it->second : nullptr;
}

Tensor VariableBindings::read(const Variable& variable) {
  if (const Variable* copy = copy_of(variable)) return copy->stored();
  return outer_ ? outer_->read(variable) : variable.stored();
}

void VariableBindings::assign(const Variable& variable, const Tensor& value) {
  if (const Variable* copy = copy_of(variable)) return copy->store(value);
  outer_ ? outer_->assign(variable, value) : variable.store(value);
}

bool VariableBindings::active() { return current != nullptr; }

std::vector<Variable> VariableBindings::apply(const std::vector<Variable>& variables) {
  std::vector<Variable> result = variables;
  if (!current) return result;
  current->has_new_ = false;
  for (Variable& variable : result) {
    if (const Variable* copy = current->copy_of(variable)) variable = *copy;
  }
  if (current->has_new_) current->reset_();
  return result;
}

}  // namespace cornu
