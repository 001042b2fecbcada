// SPDX-License-Identifier: Apache-2.0
// A task's output, line by line behind its name.
#pragma once

#include <string>

#include "framework/io/file_descriptor.h"

namespace apps {

// Reads one pipe and writes to standard output or standard error.
class Lines {
 public:
  Lines() = default;
  // `number` gives the prefix its colour, where `to` is a terminal and NO_COLOR isn't set.
  Lines(const std::string& name, int number, int to);

  // From now on what comes through this pipe, whose reading end never blocks.
  void read_from(cornu::FileDescriptor pipe) { pipe_ = std::move(pipe); }
  int file() const { return pipe_.get(); }  // negative: at its end
  // Writes the whole lines of what has come. False when nobody reads `to` any more.
  bool forward();
  // The task has ended: writes all that is left, and closes the pipe. False as above.
  bool finish();

 private:
  bool write_lines();

  std::string prefix_;
  int to_ = -1;
  cornu::FileDescriptor pipe_;
  std::string text_;  // what isn't written yet
};

}  // namespace apps
