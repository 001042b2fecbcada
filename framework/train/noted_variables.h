// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/core/variable.h"
#include "framework/saving/run_state.h"
#include "framework/saving/saved_variables.h"

namespace cornu {

// The values that variables had, to be put back. They share memory with the variables until those
// are written to.
class NotedVariables {
 public:
  explicit NotedVariables(std::vector<Variable> variables) : variables_(std::move(variables)) {
    save_variables(state_, kGroup, variables_);
  }
  bool contains(const Variable& variable) const {
    return std::ranges::any_of(variables_,
                               [&](const Variable& own) { return own.id() == variable.id(); });
  }
  void put_back() const { restore_variables(state_, kGroup, variables_); }

 private:
  static constexpr const char* kGroup = "noted";

  std::vector<Variable> variables_;
  RunState state_;
};

}  // namespace cornu
