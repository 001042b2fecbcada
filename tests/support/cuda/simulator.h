// SPDX-License-Identifier: Apache-2.0
// GPUs that the host simulates, for tests of the CUDA backend on machines without one. The backend
// runs on them unchanged; whatever it may not rely on goes wrong, the same way each time:
//
// - The host can't read a GPU's memory. New memory is full of rubbish.
// - Nothing is run before the host waits for it, and then only what it waits for: a missing wait
//   between streams, or a copy's source that is changed too early, gives wrong numbers. An event
//   is done at the third question at the latest.
// - Kernels are compiled by the host's compiler, and run thread by thread: in ascending order in
//   one launch, in descending order in the next, so that what depends on the order has other
//   results.
// - Shared memory is full of rubbish when a block begins. A barrier that some threads never reach
//   is an error.
// - Operations must lie in memory that is allocated, and memory must not be freed before what was
//   enqueued on it has run.
// - A collective of several GPUs is run when all of them have enqueued it and have come to it. The
//   host waits for that as long as it takes; one that is aborted leaves rubbish. A single GPU has
//   none, as on a machine whose library can't be loaded. Among processes, a GPU goes on to what
//   another one waits for, and one whose process is gone is waited for as long as it takes.
//
// In this folder: memory.h, kernel_text.cc (what CUDA has built in), kernel_compiler.h,
// block_runner.h (threads and barriers), streams.h, libraries.h, collectives.h,
// process_collectives.h (by wire.h), and the Runtime in simulator.cc.
#pragma once

#include <memory>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda::simulated {

struct SimulatorOptions {
  int gpus = 2;
  size_t memory_bytes = size_t{1} << 30;  // of each
  size_t pinned_bytes = size_t{1} << 30;  // page-locked, of the host
  int major = 9;                          // compute capability
  int minor = 0;
  bool libraries = true;  // false: prepare() gives null
};

std::unique_ptr<Runtime> make_runtime(const SimulatorOptions& options);

// While there is one, nothing is copied from the host to a GPU, which is an error.
class FailingCopies {
 public:
  FailingCopies();
  ~FailingCopies();
  FailingCopies(const FailingCopies&) = delete;
  FailingCopies& operator=(const FailingCopies&) = delete;
};

// While there is one, several GPUs have no collectives either.
class MissingCollectives {
 public:
  MissingCollectives();
  ~MissingCollectives();
  MissingCollectives(const MissingCollectives&) = delete;
  MissingCollectives& operator=(const MissingCollectives&) = delete;
};

// While there is one, ranks of different processes don't reach each other, and nobody is told.
class UnreachableRanks {
 public:
  UnreachableRanks();
  ~UnreachableRanks();
  UnreachableRanks(const UnreachableRanks&) = delete;
  UnreachableRanks& operator=(const UnreachableRanks&) = delete;
};

// One with the usual options, which is never destroyed.
Runtime& simulated_runtime();

}  // namespace cornu::cuda::simulated
