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

// While alive, replaces some variables by copies private to this thread: code that reads and
// assigns them, and compiled functions that this thread runs, work on the copies. This gives
// concurrent evaluations of one model separate metrics.
class VariableBindings : public VariableHooks {
 public:
  // `belongs` tells whether a variable is to be replaced. `reset` sets all replaced variables to
  // their initial values by assigning them; it is called when a function introduces new ones.
  VariableBindings(std::function<bool(const Variable&)> belongs, std::function<void()> reset);
  ~VariableBindings() override;
  VariableBindings(const VariableBindings&) = delete;
  VariableBindings& operator=(const VariableBindings&) = delete;

  Tensor read(const Variable& variable) override;
  void assign(const Variable& variable, const Tensor& value) override;

  // A function's variables, as a run on this thread has to bind them.
  static std::vector<Variable> apply(const std::vector<Variable>& variables);
  static bool active();

 private:
  // The copy; null when the variable isn't replaced.
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
