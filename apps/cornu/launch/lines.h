// SPDX-License-Identifier: Apache-2.0
// Prefixes each line of a task's output with its name.
#pragma once

#include <string>

#include "apps/cornu/launch/sink.h"
#include "framework/io/file_descriptor.h"

namespace apps {

// Reads one pipe and writes to a sink, which must outlive this object.
class Lines {
 public:
  Lines() = default;
  // `number` determines the prefix's color, if `to` is a terminal and NO_COLOR isn't set.
  Lines(const std::string& name, int number, Sink& to);

  // Starts reading from this pipe, whose read end must be non-blocking.
  void read_from(cornu::FileDescriptor pipe) { pipe_ = std::move(pipe); }
  // Negative when there is nothing to read: at the end, or while the sink is full.
  int file() const { return to_ && to_->is_full() ? -1 : pipe_.get(); }
  // Writes the complete lines received so far. Returns false when `to` has no reader any more.
  bool forward();
  // The task has ended: writes the rest and closes the pipe. Returns false as above.
  bool finish();

 private:
  bool write_lines();

  std::string prefix_;
  Sink* to_ = nullptr;
  cornu::FileDescriptor pipe_;
  std::string text_;  // of an incomplete line
};

}  // namespace apps
