// SPDX-License-Identifier: Apache-2.0
// Common parts of callbacks that save the state of a run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/saving/run_state_writer.h"

namespace cornu::callbacks {

// Saves a run's state in a folder.
class RunKeeper {
 public:
  // Acquires the folder if this worker of a job is the chief; other workers get the state from the
  // chief. With `on_every_worker`, they save it, too, in "worker 1", … within the folder. A run
  // that follows one which has ended and removed its states uses "fit 2", … within the folder, so
  // that when the program is restarted, its first fit doesn't load the second one's state. Throws
  // RunStateFolder's errors.
  void begin(const std::string& folder, bool on_every_worker);
  // Waits until all states passed to keep() are written, and returns the newest one; with
  // on_every_worker, the newest on this machine.
  std::optional<RunState> load();
  bool keeps() const { return keeps_; }
  void keep(const RunState& state);
  // Returns, once, why the last state that was written, or was to be, couldn't be; empty if it
  // could. After leave(), this is known of the last state passed to keep().
  std::string take_error();
  // Whether a state passed to keep() since load() has been written.
  bool has_kept() { return writer_ ? writer_->has_written() : has_kept_; }
  // Called when training has completed: removes the states, unless they are to be kept, once they
  // aren't needed any more. (With several workers, one that dies before all programs have ended
  // resumes from the last state.)
  void end(bool keep_states);
  // Calls begin(), unless it was called, and end().
  void skip(const std::string& folder, bool on_every_worker, bool keep_states);
  // Releases the folder when all states are written.
  void leave();

 private:
  std::vector<std::string> other_folders() const;
  void tell_of_obsolete_states() const;

  bool keeps_ = false;
  std::string given_;             // the folder passed to begin()
  std::string of_run_;            // the same, or this run's subfolder
  bool on_every_worker_ = false;  // whether all workers save their states there; otherwise only the
                                  // chief
  std::shared_ptr<RunStateFolder> folder_;
  std::unique_ptr<RunStateWriter> writer_;
  std::string error_;      // of the last writer
  bool has_kept_ = false;  // it has written a state
};

}  // namespace cornu::callbacks
