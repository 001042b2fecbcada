// SPDX-License-Identifier: Apache-2.0
// All-reduce between ranks that read each other's memory.
#include <algorithm>
#include <cstring>
#include <functional>

#include "distribute/collectives/ring.h"
#include "distribute/collectives/ring_chunks.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/strategy/reduce_elements.h"

namespace cornu::distribute {

// The location of every rank's segments in the ranks' memory.
class RingCollectives::Directory {
 public:
  Directory(Transport& transport, std::span<const Segment> segments, size_t element)
      : transport_(transport), segments_(segments), element_(element) {}

  size_t entry_bytes() const { return sizeof(Entry) + segments_.size() * sizeof(Place); }

  // Writes this rank's entry.
  void describe(std::byte* to) const {
    Entry entry{.handle = transport_.memory_handle(), .fits = 1};
    for (size_t i = 0; i < segments_.size(); ++i) {
      Place place;
      const bool fits = find(segments_[i].in, size_of_segment(i), place.in) &&
                        find(segments_[i].out, size_of_segment(i), place.out);
      if (!fits) entry.fits = 0;
      std::memcpy(to + sizeof entry + i * sizeof place, &place, sizeof place);
    }
    std::memcpy(to, &entry, sizeof entry);
  }

  // Reads all ranks' entries, at a stride of `stride` bytes. Returns false when a rank's segments
  // are outside of its memory.
  bool read(std::span<const std::byte> all, size_t stride) {
    const auto size = static_cast<size_t>(transport_.size());
    places_.resize(size * segments_.size());
    for (size_t rank = 0; rank < size; ++rank) {
      Entry entry;
      std::memcpy(&entry, all.data() + rank * stride, sizeof entry);
      if (entry.fits != 1) return false;
      handles_.push_back(entry.handle);
      std::memcpy(places_.data() + rank * segments_.size(),
                  all.data() + rank * stride + sizeof(Entry), segments_.size() * sizeof(Place));
    }
    return true;
  }
  // Handles of all ranks' memory.
  const std::vector<SharedBlock::Handle>& handles() const { return handles_; }

  // Opens the memory of all ranks; returns whether this rank can read it.
  bool open() {
    memory_.clear();
    for (size_t rank = 0; rank < handles_.size(); ++rank) {
      const bool own = static_cast<int>(rank) == transport_.rank();
      memory_.push_back(own ? transport_.own_memory() : others_memory(rank));
      if (memory_.back().empty()) return false;
    }
    return true;
  }
  void require_within() const {
    for (size_t rank = 0; rank < handles_.size(); ++rank) {
      for (size_t i = 0; i < segments_.size(); ++i) {
        require_within(rank, place(rank, i).in, size_of_segment(i));
        require_within(rank, place(rank, i).out, size_of_segment(i));
      }
    }
  }

  const std::byte* in(size_t rank, size_t segment) const {
    return memory_[rank].data() + place(rank, segment).in;
  }
  const std::byte* out(size_t rank, size_t segment) const {
    return memory_[rank].data() + place(rank, segment).out;
  }

  // Calls visit(segment, begin, end) for the bytes of each segment that belong to a chunk.
  template <class Visit>
  void each_part(const Chunks& chunks, size_t chunk, Visit visit) const {
    size_t before = 0;
    for (size_t i = 0; i < segments_.size(); ++i) {
      const size_t own = size_of_segment(i);
      const size_t begin = std::max(chunks.bounds[chunk], before);
      const size_t end = std::min(chunks.bounds[chunk + 1], before + own);
      if (begin < end) visit(i, begin - before, end - before);
      before += own;
    }
  }

 private:
  struct Entry {
    SharedBlock::Handle handle;
    int64_t fits = 0;
  };
  struct Place {  // offsets in a rank's memory
    uint64_t in = 0;
    uint64_t out = 0;
  };

  std::span<const std::byte> others_memory(size_t rank) {
    try {
      return transport_.memory_of(static_cast<int>(rank), handles_[rank]);
    } catch (const ResourceExhausted&) {
      return {};
    }
  }

  const Place& place(size_t rank, size_t segment) const {
    return places_[rank * segments_.size() + segment];
  }
  size_t size_of_segment(size_t i) const {
    return static_cast<size_t>(segments_[i].count) * element_;
  }

  bool find(const void* memory, size_t bytes, uint64_t& offset) const {
    if (bytes == 0) return true;
    const std::span<const std::byte> own = transport_.own_memory();
    const auto* begin = static_cast<const std::byte*>(memory);
    const std::less<> before;
    if (before(begin, own.data()) || before(own.data() + own.size(), begin + bytes)) return false;
    offset = static_cast<uint64_t>(begin - own.data());
    return true;
  }

  void require_within(size_t rank, uint64_t offset, size_t bytes) const {
    const size_t there = memory_[rank].size();
    check<DataLoss>(bytes <= there && offset <= there - bytes,
                    "Collective: worker {} can't read the memory of worker {}: it needs {} bytes "
                    "from {} on, of {}.",
                    transport_.rank(), rank, bytes, offset, there);
  }

  Transport& transport_;
  std::span<const Segment> segments_;
  size_t element_;
  std::vector<SharedBlock::Handle> handles_;        // by rank
  std::vector<std::span<const std::byte>> memory_;  // by rank
  std::vector<Place> places_;                       // by rank, then segment
};

// Returns whether all ranks can read each other's memory; logs a warning if not.
bool RingCollectives::can_all_read(const CollectiveCall& what, Directory& directory) {
  const bool can = directory.open();
  own_.resize(sizeof(Header) + padded(1));
  own_[sizeof(Header)] = std::byte{can};
  const auto all = gather_small(what, 1);
  for (int rank = 0; rank < transport_.size(); ++rank) {
    if (all[static_cast<size_t>(rank) * padded(1)] == std::byte{1}) continue;
    logging::warn(fmt::format(
        "Collective: worker {} can't read the memory of another one of its machine. Are there file "
        "descriptors left (ulimit -n)? Workers send each other what they reduce instead.",
        rank));
    return false;
  }
  return true;
}

bool RingCollectives::reduce_directly(const CollectiveCall& what, const Chunks& chunks,
                                      std::span<const Segment> segments) {
  const size_t element = size_of(*chunks.dtype);
  Directory directory(transport_, segments, element);
  const size_t bytes = directory.entry_bytes();
  own_.resize(sizeof(Header) + padded(bytes));
  directory.describe(own_.data() + sizeof(Header));
  if (!directory.read(gather_small(what, bytes), padded(bytes))) return false;
  if (directory.handles() != memory_) {
    memory_ = directory.handles();
    can_read_ = can_all_read(what, directory);
  } else if (can_read_ && !directory.open()) {
    raise<Internal>("Collective: memory that could be read can't be read any more.");
  }
  if (!can_read_) return false;
  directory.require_within();

  const auto size = static_cast<size_t>(transport_.size());
  const auto rank = static_cast<size_t>(transport_.rank());
  std::vector<const void*> in(size);
  directory.each_part(chunks, rank, [&](size_t segment, size_t begin, size_t end) {
    for (size_t i = 0; i < size; ++i) in[i] = directory.in((rank + 1 + i) % size, segment) + begin;
    std::byte* out = static_cast<std::byte*>(segments[segment].out) + begin;
    const auto count = static_cast<int64_t>((end - begin) / element);
    reduce_and_divide(out, in, count, *chunks.dtype, chunks.op, chunks.divisor);
  });
  synchronize(what);
  for (size_t i = 1; i < size; ++i) {
    const size_t other = (rank + i) % size;
    directory.each_part(chunks, other, [&](size_t segment, size_t begin, size_t end) {
      std::memcpy(static_cast<std::byte*>(segments[segment].out) + begin,
                  directory.out(other, segment) + begin, end - begin);
    });
  }
  synchronize(what);  // wait until all have read this rank's memory
  return true;
}

}  // namespace cornu::distribute
