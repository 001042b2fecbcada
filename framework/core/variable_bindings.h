// SPDX-License-Identifier: Apache-2.0
// State that belongs to a run instead of a model.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "framework/core/variable.h"

namespace cornu {

// While it lives, some variables stand for copies of this thread's: code that reads and assigns
// them, and compiled functions that this thread runs, work on the copies. So several evaluations of
// one model have metrics of their own.
class VariableBindings : public VariableHooks {
 public:
  // `belongs`: is it one of those? `reset`: sets all of them to their first values, by assigning
  // them; called when a function brings new ones.
  VariableBindings(std::function<bool(const Variable&)> belongs, std::function<void()> reset);
  ~VariableBindings() override;
  VariableBindings(const VariableBindings&) = delete;
  VariableBindings& operator=(const VariableBindings&) = delete;

  Tensor read(const Variable& variable) override;
  void assign(const Variable& variable, const Tensor& value) override;

  // A function's variables, as a run on this thread shall bind them.
  static std::vector<Variable> apply(const std::vector<Variable>& variables);
  static bool active();

 private:
  // The copy; null where the variable stands for itself.
  const Variable* copy_of(const Variable& variable);

  std::function<bool(const Variable&)> belongs_;
  std::function<void()> reset_;
  std::unordered_map<const void*, std::optional<Variable>> copies_;
  bool has_new_ = false;
  VariableHooks* outer_;
  VariableBindings* previous_;
  VariableHooksScope hooks_;
};

}  // namespace cornu
