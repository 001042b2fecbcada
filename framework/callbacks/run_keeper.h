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
  // Training ended well: removes the states, which aren't needed now, unless they are to be kept.
  void end(bool keep_states);
  // Lets the folder go, when all that was given is written.
  void leave();

 private:
  std::shared_ptr<RunStateFolder> folder_;
  std::unique_ptr<RunStateWriter> writer_;
};

}  // namespace cornu::callbacks
