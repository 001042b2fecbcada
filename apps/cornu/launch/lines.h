// SPDX-License-Identifier: Apache-2.0
// A task's output, line by line behind its name.
#pragma once

#include <string>

#include "apps/cornu/launch/sink.h"
#include "framework/io/file_descriptor.h"

namespace apps {

// Reads one pipe and writes to a sink, which must be there as long as it.
class Lines {
 public:
  Lines() = default;
  // `number` gives the prefix its colour, where `to` is a terminal and NO_COLOR isn't set.
  Lines(const std::string& name, int number, Sink& to);

  // From now on what comes through this pipe, whose reading end never blocks.
  void read_from(cornu::FileDescriptor pipe) { pipe_ = std::move(pipe); }
  // Negative: nothing is to be read, at its end, or as long as the sink is full.
  int file() const { return to_ && to_->is_full() ? -1 : pipe_.get(); }
  // Writes the whole lines of what has come. False when nobody reads `to` any more.
  bool forward();
  // The task has ended: writes all that is left, and closes the pipe. False as above.
  bool finish();

 private:
  bool write_lines();

  std::string prefix_;
  Sink* to_ = nullptr;
  cornu::FileDescriptor pipe_;
  std::string text_;  // of a line that hasn't come to its end
};

}  // namespace apps
