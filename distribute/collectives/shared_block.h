// SPDX-License-Identifier: Apache-2.0
// Memory shared between the processes of a machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "framework/io/file_descriptor.h"

namespace cornu::distribute {

// Memory without a name in the file system, freed with the last process that has it open.
class SharedBlock {
 public:
  // Identifies the block to other processes. The random tag ensures that a process which reuses the
  // ID of an ended one isn't mistaken for it.
  struct Handle {
    int64_t process = 0;
    int64_t descriptor = -1;
    std::array<std::byte, 16> tag = {};

    bool operator==(const Handle&) const = default;
  };

  // Creates a zero-initialized block. Throws ResourceExhausted when there is no memory.
  static std::shared_ptr<SharedBlock> create(size_t bytes);
  // Returns null when the block can't be opened: it is gone (errno is ENOENT), or belongs to
  // another user.
  static std::shared_ptr<SharedBlock> open(const Handle& handle);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::span<std::byte> bytes() const;  // page-aligned
  const Handle& handle() const { return handle_; }

 private:
  explicit SharedBlock(FileDescriptor memory) : memory_(std::move(memory)) {}
  void map(size_t bytes);

  FileDescriptor memory_;
  Handle handle_;
  std::byte* mapped_ = nullptr;
  size_t mapped_bytes_ = 0;
};

// Identifies a process namespace: processes with the same text can open each other's blocks.
std::string process_space();

}  // namespace cornu::distribute
