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
  // Takes the folder, and removes it with clear(). Writes only where `writes`. Errors as
  // RunStateFolder's.
  void begin(const std::string& folder, bool writes);
  std::optional<RunState> load() { return folder_->load(); }
  bool writes() const { return writer_ != nullptr; }
  void keep(const RunState& state) { writer_->write(state); }
  // Waits until everything is written; a run that ended well needs no state.
  void finish(bool clear);
  // Lets the folder go, with what was written last in it.
  void leave();

 private:
  std::shared_ptr<RunStateFolder> folder_;
  std::unique_ptr<RunStateWriter> writer_;
};

}  // namespace cornu::callbacks
