// SPDX-License-Identifier: Apache-2.0
// Algorithms for collectives between processes.
//
// Large collectives go around a ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce
// algorithms", 2009): in size - 1 steps each rank obtains one chunk of the reduced elements, and in
// as many further steps the chunks of all others. The parts of a chunk that have arrived are passed
// on while the rest is in transit. Small collectives are gathered as a whole in log2(size) steps
// (Bruck et al., 1997), and every rank reduces them by itself; those in between are reduced in as
// many steps by pairs of ranks (recursive doubling). Data in memory that the ranks can read
// (Transport::memory) isn't sent: each rank reads what it reduces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "distribute/collectives/collectives.h"
#include "distribute/collectives/transport.h"

namespace cornu::distribute {

class SegmentBytes;

// Before anything else is exchanged, ranks compare their calls; throws RanksDiffer, naming both
// calls, when they differ.
class RingCollectives : public Collectives {
 public:
  explicit RingCollectives(Transport& transport, const CollectivesOptions& options = {});

  // Same as Communication::peers.
  static std::vector<int> peers(int rank, int size);

  // The order of summation depends only on the number of elements and of ranks. On the ring, the
  // elements of a chunk are summed starting from the rank after the one that ends up with the
  // chunk; small collectives are summed in the order of ranks, medium ones by recursive doubling.
  void all_reduce(const CollectiveCall& what, std::span<const Segment> segments,
                  int64_t divisor) override;
  void reduce_scatter(const CollectiveCall& what, const void* in, void* out, int64_t count_per_rank,
                      int64_t divisor) override;
  void all_gather(const CollectiveCall& what, const void* in, void* out,
                  size_t bytes_per_rank) override;
  void broadcast(const CollectiveCall& what, void* data, size_t bytes, int root) override;
  void barrier(const CollectiveCall& what) override;

 private:
  // What a rank tells the others about its call.
  struct Header;
  Header header_of(const CollectiveCall& what) const;
  void require_same(const CollectiveCall& what, const Header& own, const Header& theirs,
                    int peer) const;

  // Sends to one rank while receiving from another.
  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in);
  void compare_with_neighbours(const CollectiveCall& what);
  // Returns every rank's bytes, by rank, at a stride of padded(bytes).
  std::span<const std::byte> gather_small(const CollectiveCall& what, size_t bytes);
  static size_t padded(size_t bytes);
  void synchronize(const CollectiveCall& what);

  struct Chunks;
  // If all ranks' segments are in memory that the others can read: same result as go_round(), bit
  // for bit. Otherwise returns false, on all ranks.
  bool reduce_directly(const CollectiveCall& what, const Chunks& chunks,
                       std::span<const Segment> segments);
  class Directory;
  bool can_all_read(const CollectiveCall& what, Directory& directory);

  class Round;
  void reduce_small(const CollectiveCall& what, const SegmentBytes& bytes, int64_t divisor);
  void reduce_by_doubling(const CollectiveCall& what, const SegmentBytes& bytes, int64_t divisor);
  void go_round(const Chunks& chunks);
  void realign(size_t sent, size_t came);

  int next() const { return (transport_.rank() + 1) % transport_.size(); }
  int previous() const { return (transport_.rank() + transport_.size() - 1) % transport_.size(); }

  Transport& transport_;
  const CollectivesOptions options_;
  uint64_t calls_ = 0;
  std::vector<std::byte> own_;       // sent by gather_small()
  std::vector<std::byte> gathered_;  // received by gather_small(), starting with this rank
  std::vector<std::byte> by_rank_;
  std::vector<SharedBlock::Handle> memory_;  // of all ranks, as of the last call
  bool can_read_ = false;                    // whether all ranks can read it
  std::vector<float> wide_;                  // sums of 16-bit numbers
  struct {
    std::vector<std::byte> given, sum, theirs;
  } doubled_;  // buffers of recursive doubling
};

}  // namespace cornu::distribute
