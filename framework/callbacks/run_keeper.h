// SPDX-License-Identifier: Apache-2.0
// What callbacks that keep the state of a run share.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "framework/saving/run_state_writer.h"

namespace cornu::callbacks {

// A folder's run state, while a run keeps it.
class RunKeeper {
 public:
  // Takes the folder, where it is this process that writes: the others of a job get the state from
  // that one. Errors as RunStateFolder's.
  void begin(const std::string& folder, bool writes);
  // The newest state, when all that was given is written.
  std::optional<RunState> load();
  bool keeps() const { return keeps_; }
  void keep(const RunState& state);
  // Training ended well: removes the states, unless they are to be kept, when they aren't needed
  // any more: a worker of several that dies before all programs have ended comes back to the last
  // one.
  void end(bool keep_states);
  // Lets the folder go, when all that was given is written.
  void leave();

 private:
  bool keeps_ = false;
  std::shared_ptr<RunStateFolder> folder_;
  std::unique_ptr<RunStateWriter> writer_;
};

}  // namespace cornu::callbacks
