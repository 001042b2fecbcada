// SPDX-License-Identifier: Apache-2.0
// What a process of several knows of the end of its job.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "framework/core/json.h"

namespace cornu {

// Where states lie that nobody needs when all workers have come to the ends of their programs.
struct ObsoleteStates {
  std::vector<std::string> states;   // folders of run states
  std::vector<std::string> folders;  // and those to be removed after them, where they are empty
};

// Thread-safe.
class JobEnd {
 public:
  static JobEnd& get();

  // Whether a call that all workers make together (fit, evaluate) is under way.
  void set_in_call(bool is_in_call);
  bool is_in_call() const;

  // What is removed at the end of the job. Whoever says that the job is over says so, too: a worker
  // that is killed before it has removed it does so when it is started again.
  void add(const ObsoleteStates& states);
  // It is removed.
  void forget();
  Json to_json() const;
  static ObsoleteStates from_json(const Json& json);

 private:
  mutable std::mutex mutex_;
  bool is_in_call_ = false;
  ObsoleteStates obsolete_;
};

}  // namespace cornu
