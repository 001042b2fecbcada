// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/in_process_group.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/core/waiting_threads.h"

namespace cornu {
namespace {

enum class Kind { AllReduce, ReduceScatter, AllGather, Broadcast, Barrier };

// What a rank asks for.
struct Call {
  Kind kind = Kind::Barrier;
  int64_t count = 0;  // elements, or bytes where there is no dtype
  std::optional<DType> dtype = {};
  ReduceOp op = ReduceOp::Sum;
  int root = 0;
  std::span<const Segment> segments = {};

  bool agrees(const Call& other) const {
    return kind == other.kind && count == other.count && dtype == other.dtype && op == other.op &&
           root == other.root &&
           std::ranges::equal(segments, other.segments, {}, &Segment::count, &Segment::count);
  }
  std::string text() const {
    constexpr const char* kKinds[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                      "barrier"};
    constexpr const char* kOps[] = {"sum", "mean", "min", "max"};
    const char* name = kKinds[static_cast<int>(kind)];
    if (kind == Kind::Barrier) return name;
    if (!dtype) return fmt::format("{} of {} bytes, root {}", name, count, root);
    return fmt::format("{} ({}) of {} {} in {} parts", name, kOps[static_cast<int>(op)], count,
                       *dtype, segments.size());
  }
};

// Where the ranks meet: each posts its call, and all wait for each other.
class Meeting {
 public:
  Meeting(int size, std::chrono::milliseconds timeout)
      : calls_{std::vector<Call>(static_cast<size_t>(size)),
               std::vector<Call>(static_cast<size_t>(size))},
        here_(static_cast<size_t>(size), false),
        timeout_(timeout) {}

  // Waits for everyone to begin a call.
  void wait(int rank, const Call& call) {
    std::unique_lock lock(mutex_);
    throw_if_aborted();
    throw_if_ended(rank, call);
    const uint64_t round = round_;
    here_[static_cast<size_t>(rank)] = true;
    if (++arrived_ == size()) {
      arrived_ = 0;
      here_.assign(here_.size(), false);
      ++round_;
      changed_.notify_all();
      return;
    }
    auto is_over = [&] { return round_ != round || aborted_.has_value() || ended_ > 0; };
    lock.unlock();
    const bool met = spin_until(size(), [&] { return round_ != round; });
    if (met) return;
    lock.lock();
    changed_.wait_for(lock, timeout_, is_over);
    if (round_ != round) return;
    throw_if_aborted();
    throw_if_ended(rank, call);
    aborted_ = fmt::format("Collective: rank {} waited {:g} s in {} for {}.", rank,
                           std::chrono::duration<double>(timeout_).count(), call.text(), missing());
    changed_.notify_all();
    throw DeadlineExceeded(*aborted_);
  }

  // Waits for everyone in the midst of a call, whose memory others read: nobody leaves early, and
  // nothing in between can throw.
  void wait_inside() {
    std::unique_lock lock(mutex_);
    const uint64_t round = round_;
    if (++arrived_ == size()) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    lock.unlock();
    if (spin_until(size(), [&] { return round_ != round; })) return;
    lock.lock();
    changed_.wait(lock, [&] { return round_ != round; });
  }

  // The calls of one turn, by rank: written before the first wait of a call, and read after it.
  // Nobody is two calls ahead of another.
  std::vector<Call>& calls(uint64_t turn) { return calls_[turn % 2]; }

  void abort(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (!aborted_) aborted_ = why;
    changed_.notify_all();
  }

  void end_step() {
    const std::lock_guard lock(mutex_);
    if (++ended_ == size()) {
      ended_ = 0;
    } else if (arrived_ > 0) {
      changed_.notify_all();
    }
  }

  int size() const { return static_cast<int>(here_.size()); }

 private:
  void throw_if_ended(int rank, const Call& call) const {
    check<FailedPrecondition>(ended_ == 0,
                              "Collective: every rank must make the same calls in the same order, "
                              "but rank {} calls {}, and another one's step has ended without it. "
                              "What replicas do may not depend on their data.",
                              rank, call.text());
  }
  void throw_if_aborted() const {
    if (aborted_) raise<Aborted>("Collective: another replica has stopped: {}", *aborted_);
  }
  std::string missing() const {
    std::vector<std::string> ranks;
    for (size_t i = 0; i < here_.size(); ++i) {
      if (!here_[i]) ranks.push_back(fmt::format("rank {}", i));
    }
    return join(ranks, ", ");
  }

  std::array<std::vector<Call>, 2> calls_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> here_;  // by rank: waits in this round
  int arrived_ = 0;
  int ended_ = 0;  // ranks that are done with this step
  std::atomic<uint64_t> round_ = 0;
  std::optional<std::string> aborted_;
  std::chrono::milliseconds timeout_;
};

template <class T>
using SumOf =
    std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

constexpr int64_t kBlock = 1024;  // elements that are reduced together
constexpr int64_t kSmall = 256;   // elements that every rank reduces by itself

// Adds (or compares) elements of one more rank. NaN, from whichever rank, stays.
template <class T, class Count>
void combine(SumOf<T>* total, const T* in, Count count, ReduceOp op) {
  using Sum = SumOf<T>;
  if (op == ReduceOp::Sum || op == ReduceOp::Mean) {
    for (int64_t i = 0; i < count; ++i) total[i] = static_cast<Sum>(total[i] + Sum(in[i]));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const Sum other = Sum(in[i]);
    const bool first = op == ReduceOp::Min ? other < total[i] : total[i] < other;
    if (other != other || first) total[i] = other;
  }
}

// `count` elements of every rank, from `at` on. With a count that is a constant, compilers
// vectorize.
template <class T, class Count>
void reduce_block(T* out, std::span<const void* const> in, int64_t at, Count count, ReduceOp op) {
  using Sum = SumOf<T>;
  std::array<Sum, kBlock> total;
  const T* first = static_cast<const T*>(in[0]) + at;
  for (int64_t i = 0; i < count; ++i) total[static_cast<size_t>(i)] = Sum(first[i]);
  for (size_t rank = 1; rank < in.size(); ++rank) {
    combine(total.data(), static_cast<const T*>(in[rank]) + at, count, op);
  }
  if (op == ReduceOp::Mean) {
    const auto ranks = static_cast<Sum>(in.size());
    for (int64_t i = 0; i < count; ++i) {
      total[static_cast<size_t>(i)] = static_cast<Sum>(total[static_cast<size_t>(i)] / ranks);
    }
  }
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(total[static_cast<size_t>(i)]);
}

// Elements [begin, end) of every rank's `in`, reduced into `out`, which may be one of them.
template <class T>
void reduce_range(T* out, std::span<const void* const> in, int64_t begin, int64_t end,
                  ReduceOp op) {
  int64_t at = begin;
  for (; at + kBlock <= end; at += kBlock) {
    reduce_block(out + (at - begin), in, at, std::integral_constant<int64_t, kBlock>(), op);
  }
  if (at < end) reduce_block(out + (at - begin), in, at, end - at, op);
}

class InProcessGroup : public CollectiveGroup {
 public:
  InProcessGroup(std::shared_ptr<Meeting> meeting, int rank, Reducers reducers)
      : meeting_(std::move(meeting)),
        in_(static_cast<size_t>(meeting_->size())),
        rank_(rank),
        reducers_(reducers) {}

  int rank() const override { return rank_; }
  int size() const override { return meeting_->size(); }

  // Each rank reduces its share of the elements, and then takes the others' from them.
  void all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) override {
    require_reducible(dtype);
    int64_t total = 0;
    for (const Segment& segment : segments) total += segment.count;
    const Call call{Kind::AllReduce, total, dtype, op, 0, segments};
    const std::vector<Call>& calls = meet(call);
    if (total <= kSmall) return reduce_all(segments, calls, dtype, op);
    each_part(segments, rank_, [&](size_t i, int64_t begin, int64_t end) {
      reduce(at(segments[i].out, begin, dtype), calls, i, begin, end, dtype, op);
    });
    meeting_->wait_inside();
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank_) continue;
      each_part(segments, peer, [&](size_t i, int64_t begin, int64_t end) {
        const void* theirs = calls[static_cast<size_t>(peer)].segments[i].out;
        std::memcpy(at(segments[i].out, begin, dtype), at(theirs, begin, dtype),
                    static_cast<size_t>(end - begin) * size_of(dtype));
      });
    }
    meeting_->wait_inside();
  }
  using CollectiveGroup::all_reduce;

  void reduce_scatter(const void* in, void* out, int64_t count_per_rank, DType dtype,
                      ReduceOp op) override {
    require_reducible(dtype);
    const Segment segment{in, out, count_per_rank * size()};
    const Call call{Kind::ReduceScatter, segment.count, dtype, op, 0, {&segment, 1}};
    const std::vector<Call>& calls = meet(call);
    reduce(out, calls, 0, rank_ * count_per_rank, (rank_ + 1) * count_per_rank, dtype, op);
    meeting_->wait_inside();
  }

  void all_gather(const void* in, void* out, size_t bytes_per_rank) override {
    const auto bytes = static_cast<int64_t>(bytes_per_rank);
    const Segment segment{in, out, bytes};
    const Call call{Kind::AllGather, bytes, {}, ReduceOp::Sum, 0, {&segment, 1}};
    const std::vector<Call>& calls = meet(call);
    for (size_t rank = 0; rank < calls.size() && bytes_per_rank > 0; ++rank) {
      std::memcpy(static_cast<std::byte*>(out) + rank * bytes_per_rank, calls[rank].segments[0].in,
                  bytes_per_rank);
    }
    meeting_->wait_inside();
  }

  void broadcast(void* data, size_t bytes, int root) override {
    const Segment segment{data, data, static_cast<int64_t>(bytes)};
    const Call call{Kind::Broadcast, segment.count, {}, ReduceOp::Sum, root, {&segment, 1}};
    const std::vector<Call>& calls = meet(call);
    if (rank_ != root && bytes > 0) {
      std::memcpy(data, calls[static_cast<size_t>(root)].segments[0].in, bytes);
    }
    meeting_->wait_inside();
  }

  void barrier() override { meet(Call{}); }
  void end_step() override { meeting_->end_step(); }
  void abort(const std::string& why) override { meeting_->abort(why); }

 private:
  // Each rank reduces everything, which takes less time than waiting for others' shares. What it
  // has is written when all have read: a rank's inputs may be its outputs.
  void reduce_all(std::span<const Segment> segments, const std::vector<Call>& calls, DType dtype,
                  ReduceOp op) {
    const size_t size = size_of(dtype);
    alignas(int64_t) std::array<std::byte, kSmall * sizeof(int64_t)> results;
    std::byte* next = results.data();
    for (size_t i = 0; i < segments.size(); ++i) {
      reduce(next, calls, i, 0, segments[i].count, dtype, op);
      next += static_cast<size_t>(segments[i].count) * size;
    }
    meeting_->wait_inside();
    next = results.data();
    for (const Segment& segment : segments) {
      const size_t bytes = static_cast<size_t>(segment.count) * size;
      if (bytes > 0) std::memcpy(segment.out, next, bytes);
      next += bytes;
    }
  }

  template <class Pointer>
  static Pointer at(Pointer memory, int64_t element, DType dtype) {
    using Byte = std::conditional_t<std::is_same_v<Pointer, void*>, std::byte, const std::byte>;
    return static_cast<Byte*>(memory) + static_cast<size_t>(element) * size_of(dtype);
  }

  static void require_reducible(DType dtype) {
    check<Unimplemented>(dtype != DType::Bool,
                         "Collective: no reduction of bool. Cast it to int32.");
  }

  // Posts this rank's call, waits for the others', and compares them.
  const std::vector<Call>& meet(const Call& call) {
    std::vector<Call>& calls = meeting_->calls(turn_++);
    calls[static_cast<size_t>(rank_)] = call;
    meeting_->wait(rank_, call);
    const auto other =
        std::ranges::find_if(calls, [&](const Call& theirs) { return !theirs.agrees(calls[0]); });
    if (other == calls.end()) return calls;
    const std::string message = fmt::format(
        "Collective: every rank must make the same calls in the same order, but rank 0 calls {}, "
        "and rank {} {}. What replicas do may not depend on their data.",
        calls[0].text(), other - calls.begin(), other->text());
    meeting_->wait_inside();  // whoever leaves takes its segments along
    throw FailedPrecondition(message);
  }

  // Calls visit(segment, begin, end) for the elements of the segments, taken together, that `rank`
  // reduces.
  template <class Visit>
  void each_part(std::span<const Segment> segments, int rank, Visit visit) const {
    constexpr int64_t kStep = 64;  // elements: shares begin with a cache line
    int64_t total = 0;
    for (const Segment& segment : segments) total += segment.count;
    const int64_t reducers = reducers_ == Reducers::First ? 1 : size();
    const int64_t share = ((total + reducers - 1) / reducers + kStep - 1) / kStep * kStep;
    const int64_t first = rank * share;
    const int64_t last = first + share;
    int64_t place = 0;  // of the segment's first element
    for (size_t i = 0; i < segments.size(); ++i) {
      const int64_t begin = std::clamp<int64_t>(first - place, 0, segments[i].count);
      const int64_t end = std::clamp<int64_t>(last - place, 0, segments[i].count);
      if (begin < end) visit(i, begin, end);
      place += segments[i].count;
    }
  }

  void reduce(void* out, const std::vector<Call>& calls, size_t segment, int64_t begin, int64_t end,
              DType dtype, ReduceOp op) {
    dispatch_dtype(dtype, [&]<class T>(T) {
      if constexpr (!std::is_same_v<T, bool>) {
        for (size_t rank = 0; rank < calls.size(); ++rank)
          in_[rank] = calls[rank].segments[segment].in;
        reduce_range(static_cast<T*>(out), in_, begin, end, op);
      }
    });
  }

  std::shared_ptr<Meeting> meeting_;
  std::vector<const void*> in_;  // by rank: what is reduced now
  int rank_;
  Reducers reducers_;
  uint64_t turn_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<CollectiveGroup>> make_in_process_group(
    int size, const InProcessGroupOptions& options) {
  auto meeting = std::make_shared<Meeting>(size, options.timeout);
  std::vector<std::unique_ptr<CollectiveGroup>> group;
  for (int rank = 0; rank < size; ++rank) {
    group.push_back(std::make_unique<InProcessGroup>(meeting, rank, options.reducers));
  }
  return group;
}

}  // namespace cornu
