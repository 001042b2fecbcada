// SPDX-License-Identifier: Apache-2.0
// The algorithms of collectives between processes.
//
// Large ones go round a ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009):
// in size - 1 steps each rank gets one chunk of the elements reduced, in as many more all others'.
// What has come of a chunk is passed on while the rest of it travels. Small ones are gathered whole
// in log2(size) steps (Bruck et al., 1997), and every rank reduces them by itself; those in between
// are reduced in as many steps, by ranks in pairs (recursive doubling). What lies in memory that
// the ranks can read (Transport::memory) isn't sent: each rank reads what it reduces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "distribute/collectives/collectives.h"
#include "distribute/collectives/transport.h"

namespace cornu::distribute {

class SegmentBytes;

// Before anything else is exchanged, ranks compare what they call: RanksDiffer, which names both
// calls.
class RingCollectives : public Collectives {
 public:
  explicit RingCollectives(Transport& transport, const CollectivesOptions& options = {});

  // As Communication::peers.
  static std::vector<int> peers(int rank, int size);

  // Elements are summed from the rank behind the one that ends up with their chunk, round the ring,
  // which the count of elements and the number of ranks fix; small ones in the order of ranks,
  // those in between (halves of the ranks first) as these numbers fix, too.
  void all_reduce(const CollectiveCall& what, std::span<const Segment> segments,
                  int64_t divisor) override;
  void reduce_scatter(const CollectiveCall& what, const void* in, void* out, int64_t count_per_rank,
                      int64_t divisor) override;
  void all_gather(const CollectiveCall& what, const void* in, void* out,
                  size_t bytes_per_rank) override;
  void broadcast(const CollectiveCall& what, void* data, size_t bytes, int root) override;
  void barrier(const CollectiveCall& what) override;

 private:
  // What a rank tells others of the call that it makes.
  struct Header;
  Header header_of(const CollectiveCall& what) const;
  void require_same(const CollectiveCall& what, const Header& own, const Header& theirs,
                    int peer) const;

  // Sends to one rank while it receives from another.
  void exchange(int to, std::span<const std::byte> out, int from, std::span<std::byte> in);
  void compare_with_neighbours(const CollectiveCall& what);
  // Every rank's bytes, by rank, padded() apart.
  std::span<const std::byte> gather_small(const CollectiveCall& what, size_t bytes);
  static size_t padded(size_t bytes);
  void synchronize(const CollectiveCall& what);

  struct Chunks;
  // Where all ranks' segments lie in memory that others can read: as go_round(), with the same
  // bits. False, on all ranks, where they don't.
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
  std::vector<std::byte> own_;       // what gather_small() sends
  std::vector<std::byte> gathered_;  // and what came, from this rank on
  std::vector<std::byte> by_rank_;
  std::vector<SharedBlock::Handle> memory_;  // of all ranks, as it was last
  bool can_read_ = false;                    // whether all ranks can read it
  std::vector<float> wide_;                  // sums of 16-bit numbers
  struct {
    std::vector<std::byte> given, sum, theirs;
  } doubled_;  // of recursive doubling
};

}  // namespace cornu::distribute
