// SPDX-License-Identifier: Apache-2.0
// What callbacks that keep the state of a run share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/saving/run_state_writer.h"

namespace cornu::callbacks {

// A folder's run state, while a run keeps it.
class RunKeeper {
 public:
  // Takes the folder, where this worker of a job is the chief; the others get the state from that
  // one. `on_every_worker`: they keep it, too, in "worker 1", … within the folder. A run after one
  // that has ended and removed its states keeps its own in "fit 2", … within it: started again, the
  // program's first fit doesn't take the second one's. Errors as RunStateFolder's.
  void begin(const std::string& folder, bool on_every_worker);
  // The newest state, when all that was given is written; on every worker: of all that are there.
  std::optional<RunState> load();
  bool keeps() const { return keeps_; }
  void keep(const RunState& state);
  std::string take_error() { return writer_ ? writer_->take_error() : ""; }
  // Whether something that was given since load() is written.
  bool has_kept() { return writer_ && writer_->has_written(); }
  // Training ended well: removes the states, unless they are to be kept, when they aren't needed
  // any more: a worker of several that dies before all programs have ended comes back to the last
  // one.
  void end(bool keep_states);
  // As begin(), where that hasn't been called, and end().
  void skip(const std::string& folder, bool on_every_worker, bool keep_states);
  // Lets the folder go, when all that was given is written.
  void leave();

 private:
  std::vector<std::string> other_folders() const;
  void tell_of_obsolete_states() const;

  bool keeps_ = false;
  std::string given_;             // the folder
  std::string of_run_;            // the same, or this run's within it
  bool on_every_worker_ = false;  // all keep their states in or within that; else the chief alone
  std::shared_ptr<RunStateFolder> folder_;
  std::unique_ptr<RunStateWriter> writer_;
};

}  // namespace cornu::callbacks
