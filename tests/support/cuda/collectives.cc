// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/collectives.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "framework/core/error.h"
#include "framework/strategy/collective_calls.h"
#include "framework/strategy/reduce_elements.h"
#include "tests/support/cuda/streams.h"

namespace cornu::cuda::simulated {

std::mutex& lock_of_all() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

std::condition_variable& collectives_changed() {
  static auto* condition = new std::condition_variable;
  return *condition;
}

namespace {

using Kind = CollectiveCall::Kind;
using Lock = std::lock_guard<std::mutex>;

constexpr int kRubbish = 0xCD;

// The number of bytes of a segment that a rank reads and writes.
struct SegmentBytes {
  size_t in;
  size_t out;
};

SegmentBytes bytes_of(const CollectiveCall& call, const Segment& segment, size_t ranks) {
  const size_t in = static_cast<size_t>(segment.count) * (call.dtype ? size_of(*call.dtype) : 1);
  if (call.kind == Kind::ReduceScatter) return {in, in / ranks};
  return {in, call.kind == Kind::AllGather ? in * ranks : in};
}

// One collective call of all ranks.
class Meeting {
 public:
  explicit Meeting(int size) : ranks_(static_cast<size_t>(size)) {}

  // Called by rank `rank`: the call is the next operation of its stream.
  void come(int rank, CollectiveCall call, RuntimeStream& stream) {
    for (size_t other = 0; other < ranks_.size(); ++other) {
      const std::optional<Rank>& theirs = ranks_[other];
      check<Internal>(!theirs || theirs->call.agrees(call),
                      "GPUs of a group call different things: rank {} {}, and rank {} {}.", other,
                      theirs ? theirs->call.text() : "", rank, call.text());
    }
    ranks_[static_cast<size_t>(rank)] = Rank{std::move(call), &stream, stream.enqueued()};
  }
  void let_go() { aborted_ = true; }

  // Runs the streams of all ranks up to this call; returns whether it can be run.
  bool gather(int rank) const {
    if (done_ || aborted_) return true;
    if (!std::ranges::all_of(ranks_, [](const auto& one) { return one.has_value(); })) return false;
    for (size_t other = 0; other < ranks_.size(); ++other) {
      const Rank& theirs = *ranks_[other];
      if (static_cast<int>(other) != rank && !theirs.stream->run_until(theirs.number)) return false;
    }
    return true;
  }

  // Runs the call for all ranks as soon as the first one gets here.
  void run(int rank) {
    if (std::exchange(done_, done_ || !aborted_)) return;
    if (aborted_) return spoil(rank);
    std::vector<std::vector<std::byte>> results;
    for (size_t i = 0; i < ranks_.size(); ++i) results.push_back(result_of(static_cast<int>(i)));
    for (size_t i = 0; i < ranks_.size(); ++i) {
      const std::byte* next = results[i].data();
      each_output(*ranks_[i], [&](std::byte* out, size_t bytes) {
        std::memcpy(out, next, bytes);
        next += bytes;
      });
    }
  }

 private:
  struct Rank {
    CollectiveCall call;
    RuntimeStream* stream;
    uint64_t number;  // of the operation
  };

  template <class Visit>
  void each_output(const Rank& rank, const Visit& visit) const {
    for (const Segment& segment : rank.call.segments) {
      const size_t bytes = bytes_of(rank.call, segment, ranks_.size()).out;
      if (bytes > 0) visit(Memory::open(segment.out), bytes);
    }
  }

  // The result for a rank, array after array.
  std::vector<std::byte> result_of(int rank) const {
    std::vector<std::byte> result;
    const CollectiveCall& own = ranks_[static_cast<size_t>(rank)]->call;
    for (size_t i = 0; i < own.segments.size(); ++i) {
      const int64_t count = own.segments[i].count;
      if (own.dtype) {
        const bool scatters = own.kind == Kind::ReduceScatter;
        const int64_t part = scatters ? count / static_cast<int64_t>(ranks_.size()) : count;
        const int64_t begin = scatters ? rank * part : 0;
        // Booleans are compared as numbers.
        const DType dtype = own.dtype == DType::Bool ? DType::UInt8 : *own.dtype;
        const size_t at = result.size();
        result.resize(at + static_cast<size_t>(part) * size_of(dtype));
        reduce_elements(result.data() + at, inputs(i), begin, begin + part, dtype, own.op);
      } else {
        for (size_t peer = 0; peer < ranks_.size(); ++peer) {
          if (own.kind == Kind::Broadcast && static_cast<int>(peer) != own.root) continue;
          const auto* from = static_cast<const std::byte*>(inputs(i)[peer]);
          result.insert(result.end(), from, from + count);
        }
      }
    }
    return result;
  }

  std::vector<const void*> inputs(size_t segment) const {
    std::vector<const void*> in;
    for (const auto& rank : ranks_) in.push_back(Memory::open(rank->call.segments[segment].in));
    return in;
  }

  void spoil(int rank) const {
    each_output(*ranks_[static_cast<size_t>(rank)],
                [](std::byte* out, size_t bytes) { std::memset(out, kRubbish, bytes); });
  }

  std::vector<std::optional<Rank>> ranks_;
  bool done_ = false;
  bool aborted_ = false;
};

// State shared by the ranks of a group.
struct Group {
  // Unfinished calls by number; they are owned by operations.
  std::map<size_t, std::weak_ptr<Meeting>> calls;
  bool aborted = false;
  std::string failed;  // the reason; empty if it hasn't failed

  std::shared_ptr<Meeting> call(size_t number, int size) {
    std::erase_if(calls, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<Meeting> meeting = calls[number].lock();
    if (!meeting) calls[number] = meeting = std::make_shared<Meeting>(size);
    return meeting;
  }
};

class SimulatedCollectives : public DeviceCollectives {
 public:
  SimulatedCollectives(std::shared_ptr<Group> group, int rank, int size, int gpu,
                       const Memory& memory)
      : group_(std::move(group)), rank_(rank), size_(size), gpu_(gpu), memory_(memory) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int gpu() const override { return gpu_; }

  void all_reduce(RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                  ReduceOp op) override {
    enqueue(stream, {Kind::AllReduce, {segments.begin(), segments.end()}, dtype, op, 0});
  }
  void reduce_scatter(RuntimeStream* stream, const void* in, void* out, int64_t count_per_rank,
                      DType dtype, ReduceOp op) override {
    enqueue(stream, {Kind::ReduceScatter, {{in, out, count_per_rank * size_}}, dtype, op, 0});
  }
  void all_gather(RuntimeStream* stream, const void* in, void* out,
                  size_t bytes_per_rank) override {
    const auto bytes = static_cast<int64_t>(bytes_per_rank);
    enqueue(stream, {Kind::AllGather, {{in, out, bytes}}, {}, ReduceOp::Sum, 0});
  }
  void broadcast(RuntimeStream* stream, void* data, size_t bytes, int root) override {
    const auto count = static_cast<int64_t>(bytes);
    enqueue(stream, {Kind::Broadcast, {{data, data, count}}, {}, ReduceOp::Sum, root});
  }

  void check_state() override {
    const Lock lock(lock_of_all());
    check_locked();
  }
  void synchronize(const RuntimeEvent& event) override {
    std::unique_lock lock(lock_of_all());
    while (true) {
      try {
        check_locked();
      } catch (const Error&) {
        abort_locked();
        throw;
      }
      if (event.run()) return;
      collectives_changed().wait(lock);
    }
  }
  void abort() override {
    const Lock lock(lock_of_all());
    abort_locked();
  }

 private:
  void enqueue(RuntimeStream* stream, CollectiveCall call) {
    const Lock lock(lock_of_all());
    check_locked();
    const std::string name = call.text() + " among GPUs";
    check<Internal>(stream->gpu() == gpu_, "{}: rank {} has GPU {}, but the stream is of GPU {}.",
                    name, rank_, gpu_, stream->gpu());
    check<Internal>(!stream->is_capturing(), "{} isn't captured by the simulator.", name);
    const bool adds = call.op == ReduceOp::Sum || call.op == ReduceOp::Mean;
    check<Internal>(call.dtype != DType::Bool || !adds, "GPUs were asked to add arrays of bool.");
    Operation operation{.name = name, .memory = memory_of(call, name), .run = {}, .prepare = {}};
    const std::shared_ptr<Meeting> meeting = group_->call(next_++, size_);
    try {
      meeting->come(rank_, std::move(call), *stream);
    } catch (const Internal& error) {
      group_->failed = error.what();
      collectives_changed().notify_all();
      throw;
    }
    operation.prepare = [meeting, rank = rank_] { return meeting->gather(rank); };
    operation.run = [meeting, rank = rank_] { meeting->run(rank); };
    stream->enqueue(std::move(operation));
    collectives_changed().notify_all();
  }

  // The allocations used by a call.
  std::vector<const void*> memory_of(const CollectiveCall& call, const std::string& name) const {
    std::vector<const void*> memory;
    for (const Segment& segment : call.segments) {
      if (segment.count == 0) continue;
      const SegmentBytes bytes = bytes_of(call, segment, static_cast<size_t>(size_));
      memory.push_back(memory_.allocation_of(segment.in, bytes.in, name));
      memory.push_back(memory_.allocation_of(segment.out, bytes.out, name));
    }
    return memory;
  }

  void check_locked() const {
    check<Aborted>(!group_->aborted,
                   "Communication between GPUs was stopped, since a replica has failed.");
    check<Internal>(group_->failed.empty(), "{}", group_->failed);
  }
  void abort_locked() {
    group_->aborted = true;
    for (const auto& [number, call] : group_->calls) {
      if (const auto meeting = call.lock()) meeting->let_go();
    }
    collectives_changed().notify_all();
  }

  std::shared_ptr<Group> group_;
  int rank_;
  int size_;
  int gpu_;
  const Memory& memory_;
  size_t next_ = 0;  // the number of the next call
};

}  // namespace

std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(std::span<const int> gpus,
                                                                 const Memory& memory) {
  auto group = std::make_shared<Group>();
  std::vector<std::unique_ptr<DeviceCollectives>> ranks;
  for (const int gpu : gpus) {
    ranks.push_back(std::make_unique<SimulatedCollectives>(
        group, static_cast<int>(ranks.size()), static_cast<int>(gpus.size()), gpu, memory));
  }
  return ranks;
}

}  // namespace cornu::cuda::simulated
