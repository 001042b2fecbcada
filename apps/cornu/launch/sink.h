// SPDX-License-Identifier: Apache-2.0
// The destination of the tasks' output.
#pragma once

#include <string>
#include <string_view>

#include "framework/io/file_descriptor.h"

namespace apps {

// Standard output or standard error. If its reader doesn't keep up, what can't be written is kept
// until it can.
class Sink {
 public:
  explicit Sink(int file);

  // Writes the text without blocking, keeping the rest. Returns false when the file has no reader
  // any more; the text is then lost.
  bool write(std::string_view text);
  // Writes the kept text as far as possible. Returns false as above.
  bool flush();
  // Whether there is kept text.
  bool is_full() const { return !kept_.empty(); }

  int file() const { return own_.is_open() ? own_.get() : file_; }
  bool is_terminal() const;

 private:
  int file_;
  cornu::FileDescriptor
      own_;  // the same file, reopened as non-blocking; closed if that isn't possible
  std::string kept_;
};

}  // namespace apps
