// SPDX-License-Identifier: Apache-2.0
// GPUs simulated by the host, for tests of the CUDA backend on machines without a GPU. The backend
// runs on them unchanged; anything it mustn't rely on fails, the same way every time:
//
// - The host can't read a GPU's memory. New memory is filled with garbage.
// - Nothing runs before the host waits for it, and then only what it waits for: a missing wait
//   between streams, or a copy whose source is overwritten too early, gives wrong numbers. An event
//   is done by its third query at the latest.
// - Kernels are compiled by the host's compiler and run thread by thread: in ascending order in one
//   launch, in descending order in the next, so that anything that depends on the order gives
//   different results.
// - Shared memory is filled with garbage when a block begins. A barrier that some threads never
//   reach is an error.
// - With `checks`, accesses that a GPU punishes are errors: access_check.h.
// - Operands must be in allocated memory, and memory mustn't be freed before the operations
//   enqueued on it have run.
// - A collective of several GPUs runs once all of them have enqueued it and have reached it. The
//   host waits for that without a timeout; an aborted collective leaves garbage. A single GPU has
//   no collectives, as on a machine where the library can't be loaded. Across processes, a GPU
//   advances to the call that another one waits for, and a GPU whose process has died is waited for
//   indefinitely.
//
// In this folder: memory.h, kernel_text.cc (CUDA's built-ins), kernel_compiler.h, block_runner.h
// (threads and barriers), access_check.h,
// streams.h, libraries.h, collectives.h, process_collectives.h (built on
// wire.h), and the Runtime in simulator.cc.
#pragma once

#include <memory>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda::simulated {

// Whether $CORNU_SIMULATOR_CHECKS is set to 1.
bool are_checks_wanted();

struct SimulatorOptions {
  int gpus = 2;
  size_t memory_bytes = size_t{1} << 30;  // per GPU
  size_t pinned_bytes = size_t{1} << 30;  // page-locked host memory
  int major = 9;                          // compute capability
  int minor = 0;
  bool libraries = true;  // if false, prepare() returns null
  // Check each access of kernels, which then take several times as long.
  bool checks = are_checks_wanted();
};

std::unique_ptr<Runtime> make_runtime(const SimulatorOptions& options);

// While an object of this class exists, every copy from the host to a GPU fails.
class FailingCopies {
 public:
  FailingCopies();
  ~FailingCopies();
  FailingCopies(const FailingCopies&) = delete;
  FailingCopies& operator=(const FailingCopies&) = delete;
};

// The next `times` kernels of libraries can't be had for want of memory.
void let_libraries_lack_memory(int times);

// While an object of this class exists, groups of several GPUs have no collectives either.
class MissingCollectives {
 public:
  MissingCollectives();
  ~MissingCollectives();
  MissingCollectives(const MissingCollectives&) = delete;
  MissingCollectives& operator=(const MissingCollectives&) = delete;
};

// While an object of this class exists, ranks in different processes can't reach each other, and
// nobody is notified.
class UnreachableRanks {
 public:
  UnreachableRanks();
  ~UnreachableRanks();
  UnreachableRanks(const UnreachableRanks&) = delete;
  UnreachableRanks& operator=(const UnreachableRanks&) = delete;
};

// A runtime with the default options, which is never destroyed.
Runtime& simulated_runtime();

}  // namespace cornu::cuda::simulated
