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

// The first error other than Aborted, which only follows from an error of another replica; else the
// first one. Null: no errors.
std::exception_ptr first_cause(const std::vector<std::exception_ptr>& errors);

// One run of several launches: has the variables that they read and write, as Backend::run says,
// for as long as it lives.
class LaunchRun {
 public:
  // `writes(executable, i)`: whether it writes its i-th state. Waits for the variables.
  LaunchRun(std::span<Launch> launches, FunctionRef<bool(const Executable&, size_t)> writes);

  // The memory of a launch's variables, on its device.
  std::span<void* const> states(size_t launch) const {
    return {states_.data() + first_state_[launch], launches_[launch].variables.size()};
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
  // beginning. An error ends the step of its group; when all have returned, the first cause is
  // thrown, and what was written is poisoned if any launch has written.
  void operator()(FunctionRef<void(size_t index, bool& touched)> body);

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
