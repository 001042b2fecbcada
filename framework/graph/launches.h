// SPDX-License-Identifier: Apache-2.0
// The part of Backend::run that is common to all backends.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "framework/core/threads.h"
#include "framework/core/variable_access.h"
#include "framework/graph/backend.h"

namespace cornu {

// One run of several launches. While alive, holds the variables that they read and write, as
// described at Backend::run.
class LaunchRun {
 public:
  // How a backend accesses variables: by their memory, which it writes, or as tensors, which it
  // replaces if its runs create new arrays.
  enum class States { Memory, Tensors };

  // `writes(executable, i)` tells whether the executable writes its i-th state. Blocks until the
  // variables are available.
  LaunchRun(std::span<Launch> launches, FunctionRef<bool(const Executable&, size_t)> writes,
            States states = States::Memory);

  // The memory of a launch's variables, on its device.
  std::span<void* const> states(size_t launch) const {
    return {states_.data() + first_state_[launch], launches_[launch].variables.size()};
  }
  // Gets the value of a launch's variable, on its device, and sets the new value of a variable that
  // it writes.
  const Tensor& current(size_t launch, size_t state) const {
    return access_.current(first_state_[launch] + state, launches_[launch].device);
  }
  void replace(size_t launch, size_t state, const Tensor& value) const {
    access_.replace(first_state_[launch] + state, value);
  }
  // The version of the value that the launch reads; the variable may already have a newer one if
  // the launch doesn't write it.
  uint64_t version(size_t launch, size_t state) const {
    return access_.version(first_state_[launch] + state);
  }
  // The variables that a launch writes.
  std::vector<Variable> written(size_t launch) const;

  // Calls `body(index, touched)` for all launches concurrently, each on its own thread. If `body`
  // throws, `touched` must tell whether it may have written variables; it is initially true. A
  // launch's step ends with its body, and an error ends the step of its group. When all have
  // returned, throws the first cause; the written variables are poisoned if any launch may have
  // written.
  void operator()(FunctionRef<void(size_t index, bool& touched)> body);
  // Overload for a single call that runs all launches.
  void together(FunctionRef<void(bool& touched)> body);

 private:
  bool is_written(size_t launch, size_t state) const {
    return written_[first_state_[launch] + state];
  }
  void poison(const std::exception_ptr& cause) const;

  std::span<Launch> launches_;
  VariableAccess access_;
  std::vector<size_t> first_state_;  // by launch
  std::vector<void*> states_;        // of all launches
  std::vector<char> written_;        // by state, of all launches
};

}  // namespace cornu
