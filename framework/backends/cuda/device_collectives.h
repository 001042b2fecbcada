// SPDX-License-Identifier: Apache-2.0
// Communication between GPUs: what a communicator of a strategy is made of where tensors lie on
// them.
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

// Another rank can't be reached: its process is gone, perhaps, which whoever watches over processes
// will know.
class RankUnreachable : public Internal {
 public:
  using Internal::Internal;
};

// One rank's handle to a group of GPUs. Every rank makes the same calls in the same order, each on
// a thread of its own, with the same counts and types. Calls enqueue, on a stream of the rank's
// GPU; NCCL's may be captured, and wait for no other rank's thread. Mean: the sum divided, on the
// GPU. Sums have an order that the counts and the machine's topology fix; all ranks get the same
// bits. NCCL rounds sums of 16-bit numbers at each step. Throws Aborted after abort(), Internal for
// faults, with the library's own words, RankUnreachable among them.
class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int gpu() const = 0;

  // Many small segments cost little more than a large one.
  virtual void all_reduce(RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                          ReduceOp op) = 0;
  // `in` has size() parts of `count_per_rank` elements; the rank's part comes to `out`, which may
  // lie at that part's place in `in`.
  virtual void reduce_scatter(RuntimeStream* stream, const void* in, void* out,
                              int64_t count_per_rank, DType dtype, ReduceOp op) = 0;
  // `in` may lie at the rank's place in `out`.
  virtual void all_gather(RuntimeStream* stream, const void* in, void* out,
                          size_t bytes_per_rank) = 0;
  virtual void broadcast(RuntimeStream* stream, void* data, size_t bytes, int root) = 0;

  // Throws what went wrong since, on whatever rank this one could see it. Nothing, while another
  // thread makes a call.
  virtual void check_state() = 0;
  // Waits for the event, and looks after the group meanwhile: when something goes wrong, work that
  // waits for other ranks would never end, and is aborted. Throws then.
  virtual void synchronize(const RuntimeEvent& event) = 0;
  // This rank calls nothing more, and its GPU is done with what it has called; others may still
  // wait for what it has sent, which comes to them before this handle is gone. Returns at once.
  virtual void leave() {}
  // From any thread: ends what the GPU does for the group. Results are undefined then, and the
  // group is of no more use.
  virtual void abort() = 0;
};

}  // namespace cornu::cuda
