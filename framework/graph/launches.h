// SPDX-License-Identifier: Apache-2.0
// What every backend's run does around its launches.
#pragma once

#include <exception>
#include <span>
#include <vector>

#include "framework/core/threads.h"
#include "framework/core/variable_access.h"
#include "framework/graph/backend.h"

namespace cornu {

// One run of several launches: has the variables that they read and write, as Backend::run says,
// for as long as it lives.
class LaunchRun {
 public:
  // How a backend gets at variables: by their memory, which it writes, or as tensors, which it
  // replaces where its runs make new arrays.
  enum class States { Memory, Tensors };

  // `writes(executable, i)`: whether it writes its i-th state. Waits for the variables.
  LaunchRun(std::span<Launch> launches, FunctionRef<bool(const Executable&, size_t)> writes,
            States states = States::Memory);

  // The memory of a launch's variables, on its device.
  std::span<void* const> states(size_t launch) const {
    return {states_.data() + first_state_[launch], launches_[launch].variables.size()};
  }
  // The value of a launch's variable, on its device, and what a variable that it writes becomes.
  const Tensor& current(size_t launch, size_t state) const {
    return access_.current(first_state_[launch] + state, launches_[launch].device);
  }
  void replace(size_t launch, size_t state, const Tensor& value) const {
    access_.replace(first_state_[launch] + state, value);
  }
  // The version of the value that a launch's variable has there, which may have a newer one already
  // where the launch doesn't write it.
  uint64_t version(size_t launch, size_t state) const {
    return access_.version(first_state_[launch] + state);
  }
  // The variables that a launch writes.
  std::vector<Variable> written(size_t launch) const;

  // Calls `body(index, touched)` for each launch, all at once, each on a thread of its own.
  // `touched` is to tell, when it throws, whether it may have written variables; it is true in the
  // beginning. A launch's step ends with its body, an error ends the step of its group; when all
  // have returned, the first cause is thrown, and what was written is poisoned if any launch has
  // written.
  void operator()(FunctionRef<void(size_t index, bool& touched)> body);
  // The same where one call runs all launches.
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
