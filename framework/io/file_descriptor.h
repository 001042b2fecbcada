// SPDX-License-Identifier: Apache-2.0
// Ownership of POSIX file descriptors, and operations on them.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace cornu {

// Closes the descriptor in its destructor. A negative value represents a file that couldn't be
// opened.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int value) : value_(value) {}
  ~FileDescriptor() {
    if (value_ >= 0) close(value_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }
  // Transfers ownership to the caller.
  [[nodiscard]] int release() { return std::exchange(value_, -1); }

 private:
  int value_ = -1;
};

// Writes all bytes, with as many calls as needed. Returns false, with errno set, on failure; some
// of the bytes may have been written.
[[nodiscard]] bool write_all(int file, std::span<const std::byte> bytes);
// The same, overwriting the bytes at `offset`.
[[nodiscard]] bool write_all_at(int file, std::span<const std::byte> bytes, uint64_t offset);

}  // namespace cornu
