// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/collective_calls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/core/waiting_threads.h"
#include "framework/strategy/reduce_elements.h"
#include "framework/strategy/streamed_copy.h"

namespace cornu {

using Kind = CollectiveCall::Kind;

CollectiveCalls::CollectiveCalls(int size, int reducers, std::chrono::milliseconds timeout)
    : size_(size), reducers_(reducers), timeout_(timeout), progress_(static_cast<size_t>(size)) {
  for (Round& round : rounds_) {
    round.calls.resize(static_cast<size_t>(size));
    round.results.resize(static_cast<size_t>(size));
  }
}

int64_t CollectiveCalls::start(int rank, CollectiveCall call) {
  if (call.kind == Kind::AllReduce || call.kind == Kind::ReduceScatter) {
    require_reducible(*call.dtype);
  }
  Progress& own = progress_[static_cast<size_t>(rank)];
  std::unique_lock lock = locked();
  throw_if_aborted();
  if (own.start >= kMax) {  // its slot must be free: all ranks have fetched the previous results
    const int64_t before = own.start - kMax;
    wait(rank, before, lock,
         [&] { return at(before).ticket > before || at(before).done == size_; });
  }
  const int64_t ticket = own.start++;
  Round& round = at(ticket);
  if (round.ticket != ticket) {  // the first rank to arrive
    round.ticket = ticket;
    round.started = round.worked = round.done = 0;
  }
  round.calls[static_cast<size_t>(rank)] = std::move(call);
  ++round.started;
  changed();
  advance(rank, lock);
  return ticket;
}

void CollectiveCalls::await(int rank, int64_t ticket) {
  std::unique_lock lock = locked();
  // Ranks do their parts in the order of calls, so the earlier ones are done as well.
  wait(rank, ticket, lock,
       [&] { return progress_[static_cast<size_t>(rank)].take > ticket && is_done(ticket); });
}

template <class Ready>
void CollectiveCalls::wait(int rank, int64_t ticket, std::unique_lock<std::mutex>& lock,
                           Ready ready) {
  while (true) {
    advance(rank, lock);
    if (ready()) return;
    throw_if_aborted();
    wait_for_change(rank, ticket, lock);
  }
}

// Whether no rank uses this call's memory anymore. A call whose slot has been reused is long done.
bool CollectiveCalls::is_done(int64_t ticket) {
  const Round& round = at(ticket);
  return round.ticket > ticket || round.worked == size_;
}

// Does all work that can be done now, in the order of tickets. Unlocks while it works.
void CollectiveCalls::advance(int rank, std::unique_lock<std::mutex>& lock) {
  Progress& own = progress_[static_cast<size_t>(rank)];
  for (; own.work < own.start && at(own.work).started == size_; ++own.work) {
    Round& round = at(own.work);
    require_agreement(round);
    throw_if_aborted();
    ++working_;
    lock.unlock();
    std::exception_ptr failed;
    try {
      work(rank, round);
    } catch (...) {
      failed = std::current_exception();
    }
    lock = locked();
    --working_;
    changed();
    if (failed) std::rethrow_exception(failed);
    ++round.worked;
  }
  for (; own.take < own.work && at(own.take).worked == size_; ++own.take) {
    Round& round = at(own.take);
    throw_if_aborted();
    take(rank, round);
    ++round.done;
    changed();
  }
}

// Does a rank's part of a call that all have started.
void CollectiveCalls::work(int rank, Round& round) {
  const CollectiveCall& own = round.calls[static_cast<size_t>(rank)];
  switch (own.kind) {
    case Kind::AllReduce:
      return own.count() <= kSmall ? reduce_all(rank, round) : reduce_share(rank, round);
    case Kind::ReduceScatter: {
      const int64_t share = own.count() / size_;
      return reduce_elements(own.segments[0].out, inputs(round, 0), rank * share,
                             (rank + 1) * share, *own.dtype, own.op);
    }
    case Kind::AllGather:
      for (size_t peer = 0; peer < round.calls.size(); ++peer) {
        const Segment& theirs = round.calls[peer].segments[0];
        const auto bytes = static_cast<size_t>(theirs.count);
        if (bytes == 0) continue;
        std::memcpy(static_cast<std::byte*>(own.segments[0].out) + peer * bytes, theirs.in, bytes);
      }
      return;
    case Kind::Broadcast:
      if (rank != own.root && own.count() > 0) {
        std::memcpy(own.segments[0].out, round.calls[static_cast<size_t>(own.root)].segments[0].in,
                    static_cast<size_t>(own.count()));
      }
      return;
    case Kind::Barrier:
      return;
  }
}

// Copies a rank's result of a small reduction: now that all have read the inputs, it may overwrite
// them.
void CollectiveCalls::take(int rank, const Round& round) {
  const CollectiveCall& own = round.calls[static_cast<size_t>(rank)];
  if (own.kind != Kind::AllReduce || own.count() > kSmall) return;
  const std::byte* next = round.results[static_cast<size_t>(rank)].data();
  for (const Segment& segment : own.segments) {
    const size_t bytes = static_cast<size_t>(segment.count) * size_of(*own.dtype);
    if (bytes > 0) std::memcpy(segment.out, next, bytes);
    next += bytes;
  }
}

// A rank writes its share for all ranks, one piece at a time, while the piece is in its cache. No
// other rank reads or writes these elements.
void CollectiveCalls::reduce_share(int rank, const Round& round) {
  constexpr int64_t kPiece = 2048;               // elements
  constexpr size_t kStreamed = size_t{4} << 20;  // bytes of a call that don't fit in caches
  if (rank >= reducers_) return;
  const CollectiveCall& own = round.calls[static_cast<size_t>(rank)];
  const DType dtype = *own.dtype;
  const size_t size = size_of(dtype);
  const bool streamed = static_cast<size_t>(own.count()) * size >= kStreamed;
  alignas(64) std::array<std::byte, kPiece * sizeof(double)> made;
  each_share(own.segments, rank, reducers_, [&](size_t i, int64_t begin, int64_t end) {
    const std::vector<const void*> in = inputs(round, i);
    for (int64_t at = begin; at < end; at += kPiece) {
      const int64_t stop = std::min(at + kPiece, end);
      reduce_elements(made.data(), in, at, stop, dtype, own.op);
      const size_t bytes = static_cast<size_t>(stop - at) * size;
      for (const CollectiveCall& call : round.calls) {
        std::byte* out = element_at(call.segments[i].out, at, dtype);
        streamed ? streamed_copy(out, made.data(), bytes)
                 : static_cast<void>(std::memcpy(out, made.data(), bytes));
      }
    }
  });
  if (streamed) fence_streamed_copies();
}

// Each rank reduces everything, which takes less time than waiting for others' shares. Its result
// is written only after all have read: a rank's inputs may be its outputs.
void CollectiveCalls::reduce_all(int rank, Round& round) {
  const CollectiveCall& own = round.calls[static_cast<size_t>(rank)];
  std::vector<std::byte>& results = round.results[static_cast<size_t>(rank)];
  results.resize(static_cast<size_t>(own.count()) * size_of(*own.dtype));
  std::byte* next = results.data();
  for (size_t i = 0; i < own.segments.size(); ++i) {
    reduce_elements(next, inputs(round, i), 0, own.segments[i].count, *own.dtype, own.op);
    next += static_cast<size_t>(own.segments[i].count) * size_of(*own.dtype);
  }
}

// The inputs of a segment, by rank.
std::vector<const void*> CollectiveCalls::inputs(const Round& round, size_t segment) {
  std::vector<const void*> in;
  for (const CollectiveCall& call : round.calls) in.push_back(call.segments[segment].in);
  return in;
}

void CollectiveCalls::require_agreement(const Round& round) const {
  for (size_t rank = 1; rank < round.calls.size(); ++rank) {
    cornu::require_agreement(static_cast<int>(rank), round.calls[rank], 0, round.calls[0]);
  }
}

void CollectiveCalls::wait_for_change(int rank, int64_t ticket,
                                      std::unique_lock<std::mutex>& lock) {
  const Round& round = at(ticket);
  if (round.started < size_ && ended_ > 0) {
    raise_ended_without(rank, round.calls[static_cast<size_t>(rank)]);
  }
  const uint64_t before = changes_;
  auto has_changed = [&] { return changes_ != before; };
  lock.unlock();
  const bool soon = spin_until(size_, has_changed);
  lock = locked();
  if (soon || condition_.wait_for(lock, timeout_, has_changed)) return;
  throw_if_aborted();
  aborted_ = fmt::format("Collective: rank {} waited {:g} s in {} for {}.", rank,
                         std::chrono::duration<double>(timeout_).count(),
                         round.calls[static_cast<size_t>(rank)].text(), missing(rank, ticket));
  changed();
  throw DeadlineExceeded(*aborted_);
}

// The ranks that a rank is waiting for.
std::string CollectiveCalls::missing(int rank, int64_t ticket) {
  const bool started = at(ticket).started == size_;
  std::vector<std::string> ranks;
  for (int peer = 0; peer < size_; ++peer) {
    const Progress& theirs = progress_[static_cast<size_t>(peer)];
    const bool late = (started ? theirs.take : theirs.start) <= ticket;
    if (late && peer != rank) ranks.push_back(fmt::format("rank {}", peer));
  }
  return join(ranks, ", ");
}

void CollectiveCalls::end_step() {
  const std::lock_guard lock(mutex_);
  if (++ended_ == size_) ended_ = 0;
  changed();
}

void CollectiveCalls::abort(const std::string& why) {
  std::unique_lock lock(mutex_);
  if (!aborted_) aborted_ = why;
  changed();
  condition_.wait(lock, [&] { return working_ == 0; });
}

void CollectiveCalls::throw_if_aborted() const {
  if (aborted_) raise<Aborted>("Collective: another replica has stopped: {}", *aborted_);
}

// Others hold the lock only briefly: sleeping would take longer.
std::unique_lock<std::mutex> CollectiveCalls::locked() {
  std::unique_lock lock(mutex_, std::defer_lock);
  if (!spin_until(size_, [&] { return lock.try_lock(); })) lock.lock();
  return lock;
}

// Signals a change that somebody may be waiting for.
void CollectiveCalls::changed() {
  ++changes_;
  condition_.notify_all();
}

}  // namespace cornu
