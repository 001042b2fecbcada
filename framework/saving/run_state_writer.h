// SPDX-License-Identifier: Apache-2.0
// Writes run states on a background thread, so that training doesn't wait for the disk.
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "framework/saving/run_state.h"

namespace cornu {

// Methods must be called from a single thread.
class RunStateWriter {
 public:
  // Throws ResourceExhausted when its thread can't be started.
  explicit RunStateWriter(const std::shared_ptr<RunStateFolder>& folder);
  ~RunStateWriter();  // writes any pending state
  RunStateWriter(const RunStateWriter&) = delete;
  RunStateWriter& operator=(const RunStateWriter&) = delete;

  // Schedules the state for writing, replacing a state that is still pending. If a state can't be
  // written, logs a warning unless the previous one failed with the same type of error; the last
  // state written, if any, is kept. Tensors are shared: a variable that is written to in the
  // meantime is copied first.
  void write(RunState state);
  // Waits until any pending state is written. No more may be passed then.
  void finish();
  // Returns, once, why the last write failed; empty if it didn't.
  std::string take_error();
  // Whether any state has been written.
  bool has_written();

 private:
  void warn(const char* reason) const;
  void work();

  std::shared_ptr<RunStateFolder> folder_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<RunState> waiting_;
  std::exception_ptr error_;
  bool has_written_ = false;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace cornu
