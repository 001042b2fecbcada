// SPDX-License-Identifier: Apache-2.0
// What a process of a multi-process job knows about the end of the job.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "framework/core/json.h"

namespace cornu {

// The locations of states that aren't needed once all workers have reached the end of their
// programs.
struct ObsoleteStates {
  std::vector<std::string> states;   // folders of run states
  std::vector<std::string> folders;  // folders to be removed after them, if empty
};

// Thread-safe.
class JobEnd {
 public:
  static JobEnd& get();

  // Whether a call that all workers make together (fit, evaluate) is in progress.
  void set_in_call(bool is_in_call);
  bool is_in_call() const;

  // States to remove at the end of the job. Any worker that announces the end of the job includes
  // them, so that a worker that is killed before removing them does so when it is restarted.
  void add(const ObsoleteStates& states);
  // Called when the states have been removed.
  void forget();
  Json to_json() const;
  static ObsoleteStates from_json(const Json& json);

 private:
  mutable std::mutex mutex_;
  bool is_in_call_ = false;
  ObsoleteStates obsolete_;
};

}  // namespace cornu
