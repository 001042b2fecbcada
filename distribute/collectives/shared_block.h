// SPDX-License-Identifier: Apache-2.0
// Memory that processes of one machine share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "framework/io/file_descriptor.h"

namespace cornu::distribute {

// Memory without a name in any folder, which is gone with the last process that has it.
class SharedBlock {
 public:
  // What other processes find it by. The tag is random: a process that has the number of one that
  // has ended isn't taken for it.
  struct Handle {
    int64_t process = 0;
    int64_t descriptor = -1;
    std::array<std::byte, 16> tag = {};

    bool operator==(const Handle&) const = default;
  };

  // ResourceExhausted where there is no memory. It begins with zeros.
  static std::shared_ptr<SharedBlock> create(size_t bytes);
  // Null where it can't be reached: it has gone (errno is ENOENT), or is another user's.
  static std::shared_ptr<SharedBlock> open(const Handle& handle);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::span<std::byte> bytes() const;  // aligned to a page's size
  const Handle& handle() const { return handle_; }

 private:
  explicit SharedBlock(FileDescriptor memory) : memory_(std::move(memory)) {}
  void map(size_t bytes);

  FileDescriptor memory_;
  Handle handle_;
  std::byte* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
};

// Where processes see each other's blocks: those with the same text.
std::string process_space();

}  // namespace cornu::distribute
