// SPDX-License-Identifier: Apache-2.0
// Interface for moving tensors between the processes of a group, and its implementations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "distribute/collectives/transport.h"
#include "framework/core/registry.h"
#include "framework/strategy/collective_calls.h"

namespace cornu::distribute {

// One rank's end of its group's collectives. Every rank must call the same functions in the same
// order, one at a time; `what` describes the call as made by the program, for comparison and error
// messages. Throws the transport's errors, and RanksDiffer if the implementation compares calls.
class Collectives {
 public:
  virtual ~Collectives() = default;

  // Reduces the segments' `in` over all ranks into `out` by what.op, where a Mean is a sum divided
  // by `divisor` at the end. All ranks must get the same bits.
  virtual void all_reduce(const CollectiveCall& what, std::span<const Segment> segments,
                          int64_t divisor) = 0;
  // Rank r's `out` receives elements [r · count_per_rank, (r + 1) · count_per_rank).
  virtual void reduce_scatter(const CollectiveCall& what, const void* in, void* out,
                              int64_t count_per_rank, int64_t divisor) = 0;
  virtual void all_gather(const CollectiveCall& what, const void* in, void* out,
                          size_t bytes_per_rank) = 0;
  virtual void broadcast(const CollectiveCall& what, void* data, size_t bytes, int root) = 0;
  virtual void barrier(const CollectiveCall& what) = 0;
};

struct CollectivesOptions {
  // Whether sums of 16-bit floating-point numbers are sent in 16 bits, and so rounded at each rank;
  // otherwise they are sent as float32 until they are complete.
  bool narrow_sums = false;
};

// A factory for one implementation of Collectives.
struct Communication {
  // Makes the collectives for a group whose ranks are connected by a transport, which outlives
  // them.
  std::function<std::unique_ptr<Collectives>(Transport&, const CollectivesOptions&)> make;
  // The ranks that a rank exchanges bytes with, sorted. The relation must be symmetric.
  std::function<std::vector<int>(int rank, int size)> peers;
};

// Implementations registered by programs, by name: those that CommunicationImplementation("name")
// refers to. Every worker must register the same name before it creates its strategy.
Registry<Communication>& communication_registry();
void register_communication(const std::string& name, Communication communication);

// RingCollectives.
Communication ring_communication();

}  // namespace cornu::distribute
