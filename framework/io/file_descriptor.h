// SPDX-License-Identifier: Apache-2.0
// A POSIX file descriptor with an owner, and what is done with one.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <span>

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

// Writes all bytes, however many calls that takes. False, with errno set, when the system refuses;
// part of them may have been written.
[[nodiscard]] bool write_all(int file, std::span<const std::byte> bytes);

}  // namespace cornu
