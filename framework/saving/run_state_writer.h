// SPDX-License-Identifier: Apache-2.0
// Writes run states on a thread of its own, so that training doesn't wait for the disk.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "framework/saving/run_state.h"

namespace cornu {

// Its methods are for one thread.
class RunStateWriter {
 public:
  explicit RunStateWriter(const std::shared_ptr<RunStateFolder>& folder);
  ~RunStateWriter();  // writes what is waiting
  RunStateWriter(const RunStateWriter&) = delete;
  RunStateWriter& operator=(const RunStateWriter&) = delete;

  // Writes the state soon; one that still waits is passed over for it. Where a state can't be
  // written, a warning says so, unless it couldn't before, for a reason of the same kind; the one
  // written last stays. Tensors are shared: a variable that
  // is written to meanwhile is copied first.
  void write(RunState state);
  // Why the last state that couldn't be written couldn't, once; empty where there was none.
  std::string take_error();
  // Whether one has been written.
  bool has_written();

 private:
  void work();

  std::shared_ptr<RunStateFolder> folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<RunState> waiting_;
  std::string error_;
  bool has_written_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace cornu
