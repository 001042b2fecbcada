// SPDX-License-Identifier: Apache-2.0
// What moves tensors between the processes of a group: the interface, and its implementations.
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

// A rank's part of its group's collectives. Every rank calls the same functions in the same order,
// one at a time; `what` is the call as the program has made it, for comparing and for messages.
// Errors are the transport's, and RanksDiffer where an implementation compares calls.
class Collectives {
 public:
  virtual ~Collectives() = default;

  // Segments' `in` over all ranks into `out`, by what.op, where a Mean is a sum that is divided by
  // `divisor` at the end. All ranks must get the same bits.
  virtual void all_reduce(const CollectiveCall& what, std::span<const Segment> segments,
                          int64_t divisor) = 0;
  // Rank r's `out` gets elements [r · count_per_rank, (r + 1) · count_per_rank).
  virtual void reduce_scatter(const CollectiveCall& what, const void* in, void* out,
                              int64_t count_per_rank, int64_t divisor) = 0;
  virtual void all_gather(const CollectiveCall& what, const void* in, void* out,
                          size_t bytes_per_rank) = 0;
  virtual void broadcast(const CollectiveCall& what, void* data, size_t bytes, int root) = 0;
  virtual void barrier(const CollectiveCall& what) = 0;
};

struct CollectivesOptions {
  // Whether sums of 16-bit floating-point numbers travel as such, and are rounded at each rank;
  // otherwise they travel as float32 until they are complete.
  bool narrow_sums = false;
};

// An implementation.
struct Communication {
  // For a group whose ranks are connected by a transport, which outlives it.
  std::function<std::unique_ptr<Collectives>(Transport&, const CollectivesOptions&)> make;
  // The ranks that a rank exchanges bytes with, sorted: the same relation seen from both sides.
  std::function<std::vector<int>(int rank, int size)> peers;
};

// Those of programs, by name: what CommunicationImplementation("name") stands for. Every worker
// must register it, before it makes its strategy.
Registry<Communication>& communication_registry();
void register_communication(const std::string& name, Communication communication);

// RingCollectives.
Communication ring_communication();

}  // namespace cornu::distribute
