// SPDX-License-Identifier: Apache-2.0
// Communication between GPUs: the basis of a strategy's collectives when tensors are in GPU memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "framework/core/dtype.h"
#include "framework/core/error.h"
#include "framework/graph/communicator.h"

namespace cornu::cuda {

class RuntimeStream;
class RuntimeEvent;

// Another rank can't be reached. Perhaps its process is gone, which whoever monitors the processes
// will find out.
class RankUnreachable : public Internal {
 public:
  using Internal::Internal;
};

// One rank's handle to a group of GPUs. Every rank makes the same calls in the same order, each on
// its own thread, with the same counts and types. Calls are enqueued on a stream of the rank's GPU;
// NCCL's calls can be captured, and don't wait for other ranks' threads. Mean: the sum is divided
// on the GPU. The order of summation depends only on the counts and the machine's topology; all
// ranks get the same bits. NCCL rounds sums of 16-bit numbers at each step. Throws Aborted after
// abort(), and Internal for faults, including RankUnreachable, with the library's message.
class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int gpu() const = 0;

  // Many small segments cost little more than one large segment.
  virtual void all_reduce(RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                          ReduceOp op) = 0;
  // `in` has size() parts of `count_per_rank` elements; the rank's part is written to `out`, which
  // may alias that part of `in`.
  virtual void reduce_scatter(RuntimeStream* stream, const void* in, void* out,
                              int64_t count_per_rank, DType dtype, ReduceOp op) = 0;
  // `in` may alias the rank's part of `out`.
  virtual void all_gather(RuntimeStream* stream, const void* in, void* out,
                          size_t bytes_per_rank) = 0;
  virtual void broadcast(RuntimeStream* stream, void* data, size_t bytes, int root) = 0;

  // Throws errors that have occurred since, on any rank as far as this one can see. No-op while
  // another thread makes a call.
  virtual void check_state() = 0;
  // Waits for the event while monitoring the group: after an error, work that waits for other ranks
  // would never end, so it is aborted and the error is thrown.
  virtual void synchronize(const RuntimeEvent& event) = 0;
  // Announces that this rank makes no more calls and its GPU has completed all of them; others may
  // still wait for what it has sent, which reaches them before this handle is destroyed.
  // Non-blocking.
  virtual void leave() {}
  // Ends the GPU's work for the group; may be called from any thread. Results are undefined
  // afterwards, and the group is unusable.
  virtual void abort() = 0;
};

}  // namespace cornu::cuda
