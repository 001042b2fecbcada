// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/launches.h"

#include <algorithm>
#include <string>

#include "framework/core/exception_text.h"
#include "framework/core/replica_threads.h"

namespace cornu {
namespace {

// The first error that isn't an Aborted, which is only the consequence of another replica's error;
// else the first error. Null if there are none.
std::exception_ptr first_cause(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr cause;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    if (!cause) cause = error;
    try {
      std::rethrow_exception(error);
    } catch (const Aborted&) {
    } catch (...) {
      return error;
    }
  }
  return cause;
}

}  // namespace

LaunchRun::LaunchRun(std::span<Launch> launches,
                     FunctionRef<bool(const Executable&, size_t)> writes, States states)
    : launches_(launches) {
  size_t count = 0;
  for (const Launch& launch : launches_) {
    first_state_.push_back(count);
    count += launch.variables.size();
  }
  access_.reserve(count);
  written_.reserve(count);
  for (const Launch& launch : launches_) {
    for (size_t i = 0; i < launch.variables.size(); ++i) {
      written_.push_back(writes(*launch.executable, i));
      access_.add(launch.variables[i], written_.back());
    }
  }
  access_.acquire();
  if (states == States::Tensors) return;
  states_.reserve(count);
  for (const Launch& launch : launches_) {
    for (size_t i = 0; i < launch.variables.size(); ++i) {
      states_.push_back(access_.memory(states_.size(), launch.device));
    }
  }
}

std::vector<Variable> LaunchRun::written(size_t launch) const {
  std::vector<Variable> variables;
  for (size_t i = 0; i < launches_[launch].variables.size(); ++i) {
    if (is_written(launch, i)) variables.push_back(launches_[launch].variables[i]);
  }
  return variables;
}

void LaunchRun::operator()(FunctionRef<void(size_t index, bool& touched)> body) {
  std::vector<std::exception_ptr> errors(launches_.size());
  std::vector<char> touched(launches_.size(), false);
  run_replicas(static_cast<int>(launches_.size()), [&](int replica) {
    const auto index = static_cast<size_t>(replica);
    bool wrote = true;
    try {
      body(index, wrote);
      if (launches_[index].group) launches_[index].group->end_step();
    } catch (const std::exception& error) {
      errors[index] = std::current_exception();
      if (launches_[index].group) launches_[index].group->abort(error.what());
    }
    touched[index] = wrote;
  });
  const std::exception_ptr cause = first_cause(errors);
  if (!cause) return;
  if (std::find(touched.begin(), touched.end(), true) != touched.end()) poison(cause);
  std::rethrow_exception(cause);
}

void LaunchRun::together(FunctionRef<void(bool& touched)> body) {
  bool touched = true;
  try {
    body(touched);
  } catch (const std::exception& error) {
    for (const Launch& launch : launches_) {
      if (launch.group) launch.group->abort(error.what());
    }
    if (touched) poison(std::current_exception());
    throw;
  }
  for (const Launch& launch : launches_) {
    if (launch.group) launch.group->end_step();
  }
}

// Some replicas have written their variables and others haven't, so none of them are valid.
void LaunchRun::poison(const std::exception_ptr& cause) const {
  const std::string why = text_of(cause);
  for (size_t launch = 0; launch < launches_.size(); ++launch) {
    for (const Variable& variable : written(launch)) variable.poison(why);
  }
}

}  // namespace cornu
