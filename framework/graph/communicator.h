// SPDX-License-Identifier: Apache-2.0
// The communicator interface that collective kernels use; strategies implement it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "framework/core/dtype.h"

namespace cornu {

enum class ReduceOp { Sum, Mean, Min, Max };

// One of several buffers that are reduced together. `in` and `out` are either equal or don't
// overlap.
struct Segment {
  const void* in;
  void* out;
  int64_t count;  // elements
};

// One rank's handle to a group. All ranks must make the same calls in the same order; each call
// returns when this rank's part is done. Reductions combine values in an order that depends only on
// position, count and number of ranks, so that all ranks get the same bits; 16-bit floating-point
// numbers are summed in float32. Throws PeerLost, DeadlineExceeded, Aborted after abort(), and on
// every rank FailedPrecondition when their calls differ.
class CollectiveGroup {
 public:
  virtual ~CollectiveGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Reducing many small tensors costs little more than one large one.
  virtual void all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) = 0;
  void all_reduce(const void* in, void* out, int64_t count, DType dtype, ReduceOp op) {
    const Segment segment{in, out, count};
    all_reduce({&segment, 1}, dtype, op);
  }
  // An asynchronous all_reduce: the group may use the segments' memory (but the span itself only
  // during this call) until `await` returns for the ticket. Awaiting a ticket also awaits all
  // earlier ones. Groups without asynchronous reductions complete the reduction here.
  virtual int64_t start_all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) {
    all_reduce(segments, dtype, op);
    return 0;
  }
  virtual void await(int64_t ticket) { static_cast<void>(ticket); }
  // Memory for a step's values, at least `bytes` bytes, aligned to 64: data in it is reduced
  // fastest. It belongs to this rank until the next request or the end of the group. Null when any
  // memory is equally fast.
  virtual std::byte* memory(size_t bytes) {
    static_cast<void>(bytes);
    return nullptr;
  }
  virtual void reduce_scatter(const void* in, void* out, int64_t count_per_rank, DType dtype,
                              ReduceOp op) = 0;
  virtual void all_gather(const void* in, void* out, size_t bytes_per_rank) = 0;
  virtual void broadcast(void* data, size_t bytes, int root) = 0;
  virtual void barrier() = 0;
  // Ends this rank's step: another rank that still makes a call in that step gets
  // FailedPrecondition. For groups whose ranks all end a step before the next one begins.
  virtual void end_step() {}
  // Makes every waiting rank and every later call fail with Aborted. On return, memory that this
  // rank passed to start_all_reduce is no longer in use.
  virtual void abort(const std::string& why) = 0;
};

}  // namespace cornu
