// SPDX-License-Identifier: Apache-2.0
// An op that was lowered for a GPU, with its kernels loaded.
#pragma once

#include <string>
#include <vector>

#include "framework/backends/cuda/gpu_device.h"
#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// Where the operands of an op lie, in the GPU's memory.
struct OpMemory {
  std::span<void* const> in;
  std::span<void* const> out;
  std::byte* scratch = nullptr;
  void* status = nullptr;
};

class LoweredOp {
 public:
  // Unimplemented when there is no kernel for it. Kernels aren't loaded yet.
  LoweredOp(const KernelSpec& spec, GpuDevice& device, bool specialize);

  // Loads the kernels of several ops at once, since they are compiled side by side.
  static void load(std::span<LoweredOp* const> ops, GpuDevice& device);

  size_t scratch_bytes() const { return scratch_bytes_; }
  const Aliases& aliases() const { return aliases_; }
  // What its kernels may refuse; numbers are the process's own.
  const Checks& checks() const { return checks_; }

  // A line for each step: "kernel add_0f3a… <<<128, 256>>>".
  std::string describe() const;

  // Enqueues it; the caller holds the device's lock. Safe to be called by several threads.
  void run(GpuDevice& device, const OpMemory& memory) const;

 private:
  std::vector<Step> steps_;
  std::vector<RuntimeFunction*> functions_;  // by step; null of those that aren't kernels
  size_t scratch_bytes_ = 0;
  Aliases aliases_;
  Checks checks_;
};

}  // namespace cornu::cuda
