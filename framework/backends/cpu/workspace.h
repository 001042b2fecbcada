// SPDX-License-Identifier: Apache-2.0
// The memory that programs keep their intermediate values in while they run.
#pragma once

#include <cstddef>
#include <memory>

#include "framework/core/buffer.h"

namespace cornu::cpu {

// A block for one run. All programs of the process share the blocks: there are as many as have run
// at once, each as large as the largest program that came to it. Thread-safe.
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

// That there is a program which needs `bytes`. When the last one that large is gone, blocks that
// are larger than any other needs are given back.
class WorkspaceDemand {
 public:
  explicit WorkspaceDemand(size_t bytes);
  ~WorkspaceDemand();
  WorkspaceDemand(const WorkspaceDemand&) = delete;
  WorkspaceDemand& operator=(const WorkspaceDemand&) = delete;

 private:
  size_t bytes_;
};

// Bytes of all blocks, in use or not.
size_t workspace_bytes_held();

}  // namespace cornu::cpu
