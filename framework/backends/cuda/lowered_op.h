// SPDX-License-Identifier: Apache-2.0
// An op lowered for a GPU, with its kernels loaded.
#pragma once

#include <string>
#include <vector>

#include "framework/backends/cuda/gpu_device.h"
#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {

// Addresses of an op's operands in GPU memory.
struct OpMemory {
  std::span<void* const> in;
  std::span<void* const> out;
  std::byte* scratch = nullptr;
  void* status = nullptr;
};

class LoweredOp {
 public:
  // Throws Unimplemented when there is no kernel for the op. Doesn't load the kernels yet.
  LoweredOp(const KernelSpec& spec, GpuDevice& device, bool specialize);

  // Loads the kernels of several ops, which are compiled in parallel.
  static void load(std::span<LoweredOp* const> ops, GpuDevice& device);

  size_t scratch_bytes() const { return scratch_bytes_; }
  const Aliases& aliases() const { return aliases_; }
  // The checks that its kernels make; check numbers are unique in the process.
  const Checks& checks() const { return checks_; }

  // One line per step: "kernel add_0f3a… <<<128, 256>>>".
  std::string describe() const;

  // Enqueues the op; the caller holds the device's lock. Thread-safe.
  void run(GpuDevice& device, const OpMemory& memory) const;

 private:
  std::vector<Step> steps_;
  std::vector<RuntimeFunction*> functions_;  // by step; null for steps that aren't kernels
  size_t scratch_bytes_ = 0;
  Aliases aliases_;
  Checks checks_;
};

}  // namespace cornu::cuda
