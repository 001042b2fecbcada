// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/ring.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "distribute/collectives/ring_chunks.h"
#include "framework/core/error.h"
#include "framework/core/fnv.h"
#include "framework/strategy/reduce_elements.h"

namespace cornu::distribute {
namespace {

// Number of bytes received by a rank up to which gathering everything from everybody is faster than
// two rounds of the ring. (Two processes over shared memory break even at about 64 KiB.)
constexpr size_t kSmall = size_t{64} << 10;
// Bytes that two ranks can send in the latency of an empty message; used to choose recursive
// doubling.
constexpr size_t kLatency = size_t{32} << 10;
constexpr size_t kPiece = size_t{32} << 10;  // bytes sent or reduced before switching to the other

uint64_t hash_of_counts(const CollectiveCall& what) {
  Fnv<uint64_t> hash;
  for (const Segment& segment : what.segments) hash.add(static_cast<uint64_t>(segment.count));
  return hash.value();
}

}  // namespace

// Another rank's call; only the counts of its segments are known.
std::string RingCollectives::Header::text() const {
  const bool is_known = kind >= 0 && kind <= static_cast<int>(CollectiveCall::Kind::Barrier) &&
                        op >= 0 && op <= static_cast<int>(ReduceOp::Max);
  if (!is_known) return "something that this version of the library doesn't know";
  CollectiveCall call;
  call.kind = static_cast<CollectiveCall::Kind>(kind);
  if (dtype >= 0 && dtype < kNumDTypes) call.dtype = static_cast<DType>(dtype);
  call.op = static_cast<ReduceOp>(op);
  call.root = root;
  call.segments.resize(static_cast<size_t>(std::clamp<int64_t>(segments, 0, 1 << 20)));
  if (!call.segments.empty()) call.segments[0].count = count;
  return call.text();
}

RingCollectives::RingCollectives(Transport& transport, const CollectivesOptions& options)
    : transport_(transport), options_(options) {
  static_assert(sizeof(Header) == 64);
}

std::vector<int> RingCollectives::peers(int rank, int size) {
  std::vector<int> result;
  for (int distance = 1; distance < size; distance *= 2) {
    result.push_back((rank + distance) % size);
    result.push_back((rank + size - distance) % size);
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

RingCollectives::Header RingCollectives::header_of(const CollectiveCall& what) const {
  return {.call = calls_,
          .counts = hash_of_counts(what),
          .count = what.count(),
          .segments = static_cast<int64_t>(what.segments.size()),
          .kind = static_cast<int32_t>(what.kind),
          .dtype = what.dtype ? static_cast<int32_t>(*what.dtype) : -1,
          .op = static_cast<int32_t>(what.op),
          .root = what.root};
}

void RingCollectives::require_same(const CollectiveCall& what, const Header& own,
                                   const Header& theirs, int peer) const {
  check<RanksDiffer>(
      own == theirs,
      "Collective: every worker must make the same calls in the same order, but call {} of worker "
      "{} is {}, and that of worker {} (its call {}) {}. The workers' programs, options, or the "
      "order of what they do must differ: look for an if or a loop that a worker's number, its "
      "data or its files decide, with a collective behind it (apply_gradients, losses and metrics "
      "have some, too).",
      own.call, transport_.rank(), what.text(), peer, theirs.call, theirs.text());
}

void RingCollectives::exchange(int to, std::span<const std::byte> out, int from,
                               std::span<std::byte> in) {
  while (!out.empty() || !in.empty()) {
    const size_t sent = out.empty() ? 0 : transport_.send(to, out);
    const size_t came = in.empty() ? 0 : transport_.receive(from, in);
    out = out.subspan(sent);
    in = in.subspan(came);
    if (sent + came == 0) {
      transport_.wait(out.empty() ? Transport::kNobody : to,
                      in.empty() ? Transport::kNobody : from);
    }
  }
}

void RingCollectives::compare_with_neighbours(const CollectiveCall& what) {
  const Header own = header_of(what);
  Header theirs;
  exchange(next(), std::as_bytes(std::span(&own, 1)), previous(),
           std::as_writable_bytes(std::span(&theirs, 1)));
  require_same(what, own, theirs, previous());
  ++calls_;
}

size_t RingCollectives::padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

// own_ holds this rank's header and bytes.
std::span<const std::byte> RingCollectives::gather_small(const CollectiveCall& what, size_t bytes) {
  const auto size = static_cast<size_t>(transport_.size());
  const auto rank = static_cast<size_t>(transport_.rank());
  const size_t block = sizeof(Header) + padded(bytes);
  const Header own = header_of(what);
  std::memcpy(own_.data(), &own, sizeof own);
  gathered_.resize(block * size);
  std::memcpy(gathered_.data(), own_.data(), block);
  for (size_t have = 1; have < size; have *= 2) {
    const size_t more = std::min(have, size - have);
    const auto to = static_cast<int>((rank + have) % size);
    const auto from = static_cast<int>((rank + size - have) % size);
    // A rank that makes a different call sends blocks of another size: its first header reveals
    // that.
    const std::span in = std::span(gathered_).subspan(have * block, more * block);
    const std::span out = std::span<const std::byte>(gathered_).first(more * block);
    exchange(to, out.first(sizeof(Header)), from, in.first(sizeof(Header)));
    Header theirs;
    std::memcpy(&theirs, in.data(), sizeof theirs);
    require_same(what, own, theirs, from);
    exchange(to, out.subspan(sizeof(Header)), from, in.subspan(sizeof(Header)));
  }
  ++calls_;
  by_rank_.resize(padded(bytes) * size);
  for (size_t i = 0; i < size && bytes > 0; ++i) {
    std::memcpy(by_rank_.data() + (rank + size - i) % size * padded(bytes),
                gathered_.data() + i * block + sizeof(Header), padded(bytes));
  }
  return by_rank_;
}

// One pass around the ring, counted by `step`: size - 1 steps of sums, then as many of results.
class RingCollectives::Round {
 public:
  Round(Transport& transport, const Chunks& chunks)
      : transport_(transport),
        chunks_(chunks),
        first_(chunks.reduces ? 0 : transport.size() - 1),
        last_((chunks.gathers ? 2 : 1) * (transport.size() - 1)),
        element_(chunks.dtype ? size_of(*chunks.dtype) : 1) {}

  void run(int next, int previous) {
    while (sent_.step < last_ || came_.step < last_) {
      const size_t to_send = sent_.step < last_ ? ready() : 0;
      const bool sent = sent_.step < last_ && send_some(next, to_send);
      const bool came = came_.step < last_ && receive_some(previous);
      if (sent || came) continue;
      transport_.wait(to_send > 0 ? next : Transport::kNobody,
                      came_.step < last_ ? previous : Transport::kNobody);
    }
  }
  size_t sent() const { return sent_bytes_; }
  size_t came() const { return came_bytes_; }

 private:
  struct Progress {
    int step;
    size_t done = 0;  // bytes of the step's chunk
  };

  int ranks() const { return transport_.size(); }
  // The chunk sent in a step; the one received is the chunk before it. In the second half every
  // rank starts with the chunk that it has reduced.
  size_t chunk(int step, int behind) const {
    const int place = step < ranks() - 1 ? -1 - step : ranks() - 1 - step;
    return static_cast<size_t>((transport_.rank() + place - behind + 3 * ranks()) % ranks());
  }
  size_t size_of_chunk(size_t chunk) const {
    return chunks_.bounds[chunk + 1] - chunks_.bounds[chunk];
  }
  SegmentBytes::Piece piece(size_t chunk, size_t done, size_t most) const {
    return chunks_.bytes.piece(chunks_.bounds[chunk] + done, std::min(most, kPiece));
  }
  bool passes_on_all() const { return sent_.step == first_ || came_.step >= sent_.step; }

  // Bytes that may be sent now: what is passed on must have arrived.
  size_t ready() const {
    const size_t there = passes_on_all()                ? size_of_chunk(chunk(sent_.step, 0))
                         : came_.step == sent_.step - 1 ? came_.done
                                                        : 0;
    return there - sent_.done;
  }

  bool send_some(int next, size_t to_send) {
    size_t taken = 0;
    if (to_send > 0) {
      const auto part = piece(chunk(sent_.step, 0), sent_.done, to_send);
      taken = transport_.send(next, {sent_.step == 0 ? part.in : part.out, part.size});
      sent_.done += taken;
      sent_bytes_ += taken;
    }
    if (sent_.done < size_of_chunk(chunk(sent_.step, 0)) || !passes_on_all()) return taken > 0;
    sent_ = {sent_.step + 1};
    return true;
  }

  bool receive_some(int previous) {
    const size_t size = size_of_chunk(chunk(came_.step, 1));
    size_t taken = 0;
    if (came_.done < size) {
      const auto part = piece(chunk(came_.step, 1), came_.done, size - came_.done);
      taken = came_.step < ranks() - 1 ? reduce_some(previous, part)
                                       : transport_.receive(previous, {part.out, part.size});
      came_.done += taken;
      came_bytes_ += taken;
    }
    if (came_.done < size) return taken > 0;
    came_ = {came_.step + 1};
    return true;
  }

  size_t reduce_some(int previous, const SegmentBytes::Piece& part) {
    const auto theirs = transport_.received(previous, element_);
    const size_t taken = std::min(theirs.size() / element_ * element_, part.size);
    if (taken == 0) return 0;
    const void* const both[] = {theirs.data(), part.in};
    const auto count = static_cast<int64_t>(taken / element_);
    reduce_elements(part.out, both, 0, count, *chunks_.dtype, chunks_.op);
    if (came_.step == ranks() - 2) {
      divide_elements(part.out, count, *chunks_.dtype, chunks_.divisor);
    }
    transport_.consume(previous, taken);
    return taken;
  }

  Transport& transport_;
  const Chunks& chunks_;
  int first_;
  int last_;
  size_t element_;
  Progress sent_{first_};
  Progress came_{first_};
  size_t sent_bytes_ = 0;
  size_t came_bytes_ = 0;
};

void RingCollectives::go_round(const Chunks& chunks) {
  Round round(transport_, chunks);
  round.run(next(), previous());
  realign(round.sent(), round.came());
}

// Pads the streams, so that the elements of the next call are aligned for their type.
void RingCollectives::realign(size_t sent, size_t came) {
  std::array<std::byte, 64> nothing{};
  std::array<std::byte, 64> ignored;
  exchange(next(), std::span(nothing).first(padded(sent) - sent), previous(),
           std::span(ignored).first(padded(came) - came));
}

namespace {

// Splits as evenly as whole elements allow.
std::vector<size_t> even_chunks(int64_t count, size_t element, int size) {
  std::vector<size_t> bounds;
  for (int64_t i = 0; i <= size; ++i) {
    bounds.push_back(static_cast<size_t>(count / size * i + std::min<int64_t>(i, count % size)) *
                     element);
  }
  return bounds;
}

// Whether recursive doubling is faster than the ring, if a message costs a fixed time plus a time
// per byte: log2(ranks) messages of all bytes, or 2 (ranks - 1) messages of a rank's share.
bool is_quicker_by_doubling(size_t bytes, int ranks) {
  const auto n = static_cast<double>(ranks);
  const int steps = std::bit_width(static_cast<unsigned>(ranks)) - 1;
  const int folds = std::has_single_bit(static_cast<unsigned>(ranks)) ? 0 : 2;
  const double message = static_cast<double>(bytes) / kLatency;
  return (steps + folds) * (1 + message) < 2 * (n - 1) * (1 + message / n);
}

}  // namespace

void reduce_and_divide(void* out, std::span<const void* const> in, int64_t count, DType dtype,
                       ReduceOp op, int64_t divisor) {
  if (divisor == 1 || !is_half(dtype)) {
    reduce_elements(out, in, 0, count, dtype, op);
    return divide_elements(out, count, dtype, divisor);
  }
  constexpr size_t kBlock = 1024;
  std::array<float, kBlock> sum;
  std::array<float, kBlock> other;
  const std::array<const void*, 2> both = {sum.data(), other.data()};
  for (size_t begin = 0; begin < static_cast<size_t>(count); begin += kBlock) {
    const size_t n = std::min(kBlock, static_cast<size_t>(count) - begin);
    const auto at = [&](const void* memory) {
      return static_cast<const std::byte*>(memory) + begin * size_of(dtype);
    };
    widen(sum.data(), at(in[0]), n, dtype);
    for (size_t i = 1; i < in.size(); ++i) {
      widen(other.data(), at(in[i]), n, dtype);
      reduce_elements(sum.data(), both, 0, static_cast<int64_t>(n), DType::Float32, op);
    }
    divide_elements(sum.data(), static_cast<int64_t>(n), DType::Float32, divisor);
    narrow(static_cast<std::byte*>(out) + begin * size_of(dtype), sum.data(), n, dtype);
  }
}

void RingCollectives::reduce_small(const CollectiveCall& what, const SegmentBytes& bytes,
                                   int64_t divisor) {
  const auto size = static_cast<size_t>(transport_.size());
  own_.resize(sizeof(Header) + padded(bytes.total()));
  bytes.copy_inputs(own_.data() + sizeof(Header));
  const auto all = gather_small(what, bytes.total());
  std::vector<const void*> in;
  for (size_t i = 0; i < size; ++i) in.push_back(all.data() + i * padded(bytes.total()));
  std::byte* result = own_.data() + sizeof(Header);
  const ReduceOp op = what.op == ReduceOp::Mean ? ReduceOp::Sum : what.op;
  reduce_and_divide(result, in, what.count(), *what.dtype, op, divisor);
  bytes.copy_to_outputs(result);
}

void RingCollectives::all_reduce(const CollectiveCall& what, std::span<const Segment> segments,
                                 int64_t divisor) {
  const DType dtype = *what.dtype;
  const int size = transport_.size();
  const ReduceOp op = what.op == ReduceOp::Mean ? ReduceOp::Sum : what.op;
  SegmentBytes bytes(segments, size_of(dtype));
  if (bytes.total() * static_cast<size_t>(size) <= kSmall) {
    return reduce_small(what, bytes, divisor);
  }
  Chunks chunks{.bytes = bytes,
                .bounds = even_chunks(what.count(), size_of(dtype), size),
                .dtype = dtype,
                .op = op,
                .divisor = divisor};
  if (transport_.shares_memory() && reduce_directly(what, chunks, segments)) return;
  compare_with_neighbours(what);
  if (size > 2 && is_quicker_by_doubling(bytes.total(), size)) {
    return reduce_by_doubling(what, bytes, divisor);
  }
  if (!is_half(dtype) || options_.narrow_sums) return go_round(chunks);

  // Sums are sent as float32, results in their own type.
  const auto count = static_cast<size_t>(what.count());
  wide_.resize(count);
  bytes.each_input([&](size_t at, const std::byte* in, size_t n) {
    widen(wide_.data() + at / 2, in, n / 2, dtype);
  });
  const Segment wide{wide_.data(), wide_.data(), what.count()};
  go_round({.bytes = SegmentBytes({&wide, 1}, sizeof(float)),
            .bounds = even_chunks(what.count(), sizeof(float), size),
            .dtype = DType::Float32,
            .op = op,
            .divisor = divisor,
            .gathers = false});
  const auto rank = static_cast<size_t>(transport_.rank());
  bytes.each_output(chunks.bounds[rank], chunks.bounds[rank + 1],
                    [&](size_t at, std::byte* out, size_t n) {
                      narrow(out, wide_.data() + at / 2, n / 2, dtype);
                    });
  chunks.reduces = false;
  go_round(chunks);
}

void RingCollectives::reduce_scatter(const CollectiveCall& what, const void* in, void* out,
                                     int64_t count_per_rank, int64_t divisor) {
  compare_with_neighbours(what);
  const DType dtype = *what.dtype;
  const bool widens = is_half(dtype);
  const size_t element = widens ? sizeof(float) : size_of(dtype);
  const auto per_rank = static_cast<size_t>(count_per_rank);
  const size_t count = per_rank * static_cast<size_t>(transport_.size());
  std::vector<std::byte> sums(count * element);
  if (widens) widen(reinterpret_cast<float*>(sums.data()), in, count, dtype);
  const Segment all{widens ? sums.data() : in, sums.data(), static_cast<int64_t>(count)};
  go_round({.bytes = SegmentBytes({&all, 1}, element),
            .bounds = even_chunks(static_cast<int64_t>(count), element, transport_.size()),
            .dtype = widens ? DType::Float32 : dtype,
            .op = what.op == ReduceOp::Mean ? ReduceOp::Sum : what.op,
            .divisor = divisor,
            .gathers = false});
  const std::byte* own = sums.data() + per_rank * element * static_cast<size_t>(transport_.rank());
  if (widens) return narrow(out, reinterpret_cast<const float*>(own), per_rank, dtype);
  if (per_rank > 0) std::memcpy(out, own, per_rank * element);
}

void RingCollectives::all_gather(const CollectiveCall& what, const void* in, void* out,
                                 size_t bytes_per_rank) {
  const auto size = static_cast<size_t>(transport_.size());
  auto* result = static_cast<std::byte*>(out);
  if (bytes_per_rank * size <= kSmall) {
    own_.resize(sizeof(Header) + padded(bytes_per_rank));
    if (bytes_per_rank > 0) std::memcpy(own_.data() + sizeof(Header), in, bytes_per_rank);
    const auto all = gather_small(what, bytes_per_rank);
    for (size_t i = 0; i < size && bytes_per_rank > 0; ++i) {
      std::memcpy(result + i * bytes_per_rank, all.data() + i * padded(bytes_per_rank),
                  bytes_per_rank);
    }
    return;
  }
  compare_with_neighbours(what);
  std::memmove(result + bytes_per_rank * static_cast<size_t>(transport_.rank()), in,
               bytes_per_rank);
  const auto total = static_cast<int64_t>(bytes_per_rank * size);
  const Segment all{result, result, total};
  go_round({.bytes = SegmentBytes({&all, 1}, 1),
            .bounds = even_chunks(total, 1, transport_.size()),
            .dtype = {},
            .reduces = false});
}

// Along the ring, starting at the root; what has arrived is passed on immediately.
void RingCollectives::broadcast(const CollectiveCall& what, void* data, size_t bytes, int root) {
  compare_with_neighbours(what);
  const bool receives = transport_.rank() != root;
  const bool sends = next() != root;
  const std::span all(static_cast<std::byte*>(data), bytes);
  size_t came = receives ? 0 : bytes;
  size_t sent = sends ? 0 : bytes;
  while (came < bytes || sent < bytes) {
    const size_t more =
        came < bytes ? transport_.receive(previous(), all.subspan(came)) : size_t{0};
    came += more;
    const size_t taken =
        sent < came && sends ? transport_.send(next(), all.subspan(sent, came - sent)) : size_t{0};
    sent += taken;
    if (more + taken > 0) continue;
    transport_.wait(sends && sent < came ? next() : Transport::kNobody,
                    came < bytes ? previous() : Transport::kNobody);
  }
  realign(sends ? bytes : 0, receives ? bytes : 0);
}

void RingCollectives::synchronize(const CollectiveCall& what) {
  own_.resize(sizeof(Header));
  gather_small(what, 0);
}

void RingCollectives::barrier(const CollectiveCall& what) { synchronize(what); }

}  // namespace cornu::distribute
