// SPDX-License-Identifier: Apache-2.0
// Where tasks' output goes.
#pragma once

#include <string>
#include <string_view>

#include "framework/io/file_descriptor.h"

namespace apps {

// Standard output or standard error, which may have a reader that doesn't read: what can't be
// written is kept until it can.
class Sink {
 public:
  explicit Sink(int file);

  // Writes the text, or as much as can be written at once. False when nobody reads the file any
  // more; the text is lost then.
  bool write(std::string_view text);
  // Writes what was kept, as the file can be written to. False as above.
  bool flush();
  // Whether something is kept.
  bool is_full() const { return !kept_.empty(); }

  int file() const { return own_.is_open() ? own_.get() : file_; }
  bool is_terminal() const;

 private:
  int file_;
  cornu::FileDescriptor own_;  // the same, opened anew so that no write waits; closed: it can't be
  std::string kept_;
};

}  // namespace apps
