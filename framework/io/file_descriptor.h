// SPDX-License-Identifier: Apache-2.0
// A POSIX file descriptor with an owner.
#pragma once

#include <unistd.h>

namespace cornu {

// Closes the descriptor when it ends. A negative value stands for a file that couldn't be opened.
class FileDescriptor {
 public:
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor() {
    if (value_ >= 0) close(value_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }

 private:
  int value_;
};

}  // namespace cornu
