// SPDX-License-Identifier: Apache-2.0
// Memory for the intermediate values of running programs.
#pragma once

#include <cstddef>
#include <memory>

#include "framework/core/buffer.h"

namespace cornu::cpu {

// A block of memory for one run, from a pool shared by all programs of the process. There are as
// many blocks as runs have been concurrent, each as large as the largest program that used it.
// Thread-safe.
class Workspace {
 public:
  explicit Workspace(size_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::byte* data() const { return block_ ? block_->data() : nullptr; }

 private:
  std::shared_ptr<Buffer> block_;
};

// Registers a program that needs `bytes`. When the last one of that size is destroyed, blocks
// larger than any other program needs are freed.
class WorkspaceDemand {
 public:
  explicit WorkspaceDemand(size_t bytes);
  ~WorkspaceDemand();
  WorkspaceDemand(const WorkspaceDemand&) = delete;
  WorkspaceDemand& operator=(const WorkspaceDemand&) = delete;

 private:
  size_t bytes_;
};

// Bytes of all blocks, in use or free.
size_t workspace_bytes_held();

}  // namespace cornu::cpu
