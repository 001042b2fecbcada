// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/one_card.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"
#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/graph/collective_call.h"

namespace cornu::cuda {
namespace {

using Kind = CollectiveCall::Kind;

constexpr size_t kMaxSetWords = 500;  // of the 4096 bytes available for parameters
constexpr uint32_t kReduceBlock = 256;
constexpr int64_t kBlocksEach = 8;  // maximum per multiprocessor: threads loop

// Arrays that are reduced together: one input per rank, and the destinations of the result.
struct ArraySet {
  int64_t count;
  std::vector<const void*> in;
  std::vector<void*> out;
};

// Kernels that reduce arrays on one card.
class ArrayReducer {
 public:
  ArrayReducer(Runtime& runtime, int gpu)
      : runtime_(runtime),
        gpu_(gpu),
        most_blocks_(kBlocksEach * runtime.facts(gpu).multiprocessors) {}

  // All sets must have the same number of inputs and outputs.
  void enqueue(RuntimeStream* stream, std::vector<ArraySet> sets, DType dtype, ReduceOp op) {
    std::erase_if(sets, [](const ArraySet& set) { return set.count == 0; });
    if (sets.empty()) return;
    const size_t ins = sets.front().in.size();
    const size_t outs = sets.front().out.size();
    const size_t most = std::max<size_t>(1, kMaxSetWords / (1 + ins + outs));
    for (size_t begin = 0; begin < sets.size(); begin += most) {
      const size_t count = std::min(most, sets.size() - begin);
      launch(stream, std::span(sets).subspan(begin, count), most, dtype, op);
    }
  }

 private:
  struct Kernel {
    DType dtype;
    ReduceOp op;
    int width;  // elements that a thread reads at once
    size_t ins, outs, sets;
    auto operator<=>(const Kernel&) const = default;
  };

  void launch(RuntimeStream* stream, std::span<const ArraySet> sets, size_t most, DType dtype,
              ReduceOp op) {
    const size_t ins = sets.front().in.size();
    const size_t outs = sets.front().out.size();
    const int width = width_of(sets, dtype);
    // Round up to powers of two, to limit the number of kernels.
    const size_t room = std::min(most, std::bit_ceil(sets.size()));
    std::vector<uint64_t> words;
    int64_t longest = 0;
    for (const ArraySet& set : sets) {
      longest = std::max(longest, set.count);
      words.push_back(static_cast<uint64_t>(set.count));
      for (const void* in : set.in) words.push_back(reinterpret_cast<uint64_t>(in));
      for (void* out : set.out) words.push_back(reinterpret_cast<uint64_t>(out));
    }
    words.resize(room * (1 + ins + outs));
    const int64_t blocks = blocks_for(longest, int64_t{kReduceBlock} * width).x;
    runtime_.launch(
        stream, function({dtype, op, width, ins, outs, room}),
        {static_cast<uint32_t>(std::min(blocks, most_blocks_)), static_cast<uint32_t>(sets.size())},
        {kReduceBlock}, 0, words);
  }

  // 16 bytes if all arrays are aligned to it.
  static int width_of(std::span<const ArraySet> sets, DType dtype) {
    const auto is_odd = [](const void* place) {
      return reinterpret_cast<uintptr_t>(place) % 16 != 0;
    };
    for (const ArraySet& set : sets) {
      if (std::ranges::any_of(set.in, is_odd) || std::ranges::any_of(set.out, is_odd)) return 1;
    }
    return 16 / static_cast<int>(size_of(dtype));
  }

  RuntimeFunction* function(const Kernel& kernel) {
    RuntimeFunction*& known = functions_[kernel];
    if (known) return known;
    const bool adds = kernel.op == ReduceOp::Sum || kernel.op == ReduceOp::Mean;
    const auto number = [](auto value) { return fmt::to_string(value); };
    const KernelCode code =
        kernel_code(fmt::format("reduce_{}_of_{}_ranks", kernel.dtype, kernel.ins),
                    define("T", type_name(kernel.dtype)) +
                        define("OP", adds                         ? "0"
                                     : kernel.op == ReduceOp::Min ? "1"
                                                                  : "2") +
                        define("DIVISOR", number(kernel.op == ReduceOp::Mean ? kernel.ins : 1)) +
                        define("WIDTH", number(kernel.width)) + define("INS", number(kernel.ins)) +
                        define("OUTS", number(kernel.outs)) + define("SETS", number(kernel.sets)) +
                        std::string(source("kernels/collective/reduce.cu")));
    return known = runtime_.load(gpu_, {&code, 1}).front();
  }

  Runtime& runtime_;
  int gpu_;
  int64_t most_blocks_;
  std::map<Kernel, RuntimeFunction*> functions_;
};

// State shared by the ranks of a group, where their threads meet.
class CardMeeting {
 public:
  CardMeeting(Runtime& runtime, int gpu, int size, std::chrono::milliseconds timeout)
      : runtime_(runtime), size_(size), timeout_(timeout), reducer_(runtime, gpu) {}

  // Returns when the call is enqueued and `stream` waits for its completion.
  void call(int rank, RuntimeStream* stream, CollectiveCall call) {
    std::shared_ptr<RuntimeEvent> ready = runtime_.record(stream);
    std::unique_lock lock(mutex_);
    throw_if_stopped();
    if (!round_) round_ = std::make_shared<Round>(static_cast<size_t>(size_));
    const std::shared_ptr<Round> round = round_;
    round->ranks[static_cast<size_t>(rank)] = {std::move(call), std::move(ready)};
    if (++round->come == size_) {
      round_ = nullptr;
      return finish(rank, stream, *round);
    }
    const bool in_time = changed_.wait_for(lock, timeout_, [&] { return round->done || stopped_; });
    if (!in_time) stop<DeadlineExceeded>(late_text(rank, *round));
    if (!round->done) throw_if_stopped();
    runtime_.wait(stream, *round->done);
  }

  void abort() {
    const std::lock_guard lock(mutex_);
    if (!stopped_) stopped_ = "a replica has failed.";
    changed_.notify_all();
  }
  void check_state() {
    const std::lock_guard lock(mutex_);
    throw_if_stopped();
  }

 private:
  struct Rank {
    CollectiveCall call;
    std::shared_ptr<RuntimeEvent> ready;  // null: it hasn't arrived
  };
  struct Round {
    explicit Round(size_t size) : ranks(size) {}
    std::vector<Rank> ranks;
    int come = 0;
    std::shared_ptr<RuntimeEvent> done;
  };

  // The other ranks wait meanwhile, or arrive once they are notified.
  void finish(int rank, RuntimeStream* stream, Round& round) {
    try {
      for (size_t other = 0; other < round.ranks.size(); ++other) {
        if (static_cast<int>(other) == rank) continue;
        const CollectiveCall& theirs = round.ranks[other].call;
        const CollectiveCall& own = round.ranks[static_cast<size_t>(rank)].call;
        check<Internal>(theirs.agrees(own),
                        "GPUs of a group call different things: rank {} {}, and rank {} {}.", other,
                        theirs.text(), rank, own.text());
        runtime_.wait(stream, *round.ranks[other].ready);
      }
      enqueue(stream, round);
      round.done = runtime_.record(stream);
    } catch (const Error& error) {
      stopped_ = error.what();
      changed_.notify_all();
      throw;
    }
    changed_.notify_all();
  }

  void enqueue(RuntimeStream* stream, const Round& round) {
    const CollectiveCall& any = round.ranks.front().call;
    switch (any.kind) {
      case Kind::AllReduce:
        return reducer_.enqueue(stream, sets_of(round), *any.dtype, any.op);
      case Kind::ReduceScatter:
        return reducer_.enqueue(stream, parts_of(round), *any.dtype, any.op);
      case Kind::AllGather:
        return gather(stream, round);
      case Kind::Broadcast:
        return broadcast(stream, round);
      case Kind::Barrier:
        return;
    }
  }

  static std::vector<ArraySet> sets_of(const Round& round) {
    std::vector<ArraySet> sets;
    for (size_t i = 0; i < round.ranks.front().call.segments.size(); ++i) {
      ArraySet set{round.ranks.front().call.segments[i].count, {}, {}};
      for (const Rank& rank : round.ranks) {
        set.in.push_back(rank.call.segments[i].in);
        set.out.push_back(rank.call.segments[i].out);
      }
      sets.push_back(std::move(set));
    }
    return sets;
  }

  // The part of each rank.
  static std::vector<ArraySet> parts_of(const Round& round) {
    const CollectiveCall& any = round.ranks.front().call;
    const int64_t count = any.segments[0].count / static_cast<int64_t>(round.ranks.size());
    const size_t bytes = static_cast<size_t>(count) * size_of(*any.dtype);
    std::vector<ArraySet> sets;
    for (size_t part = 0; part < round.ranks.size(); ++part) {
      ArraySet set{count, {}, {round.ranks[part].call.segments[0].out}};
      for (const Rank& rank : round.ranks) {
        set.in.push_back(static_cast<const std::byte*>(rank.call.segments[0].in) + part * bytes);
      }
      sets.push_back(std::move(set));
    }
    return sets;
  }

  void gather(RuntimeStream* stream, const Round& round) {
    for (size_t from = 0; from < round.ranks.size(); ++from) {
      const Segment& theirs = round.ranks[from].call.segments[0];
      const auto bytes = static_cast<size_t>(theirs.count);
      for (const Rank& rank : round.ranks) {
        copy(stream, static_cast<std::byte*>(rank.call.segments[0].out) + from * bytes, theirs.in,
             bytes);
      }
    }
  }

  void broadcast(RuntimeStream* stream, const Round& round) {
    const CollectiveCall& any = round.ranks.front().call;
    const Segment& root = round.ranks[static_cast<size_t>(any.root)].call.segments[0];
    for (const Rank& rank : round.ranks) {
      copy(stream, rank.call.segments[0].out, root.in, static_cast<size_t>(root.count));
    }
  }

  void copy(RuntimeStream* stream, void* to, const void* from, size_t bytes) {
    if (to != from && bytes > 0) runtime_.copy(stream, to, from, bytes);
  }

  std::string late_text(int rank, const Round& round) const {
    std::vector<std::string> late;
    for (size_t other = 0; other < round.ranks.size(); ++other) {
      if (!round.ranks[other].ready) late.push_back(fmt::format("rank {}", other));
    }
    return fmt::format("Collective on a GPU: rank {} waited {:g} s in {} for {}.", rank,
                       std::chrono::duration<double>(timeout_).count(),
                       round.ranks[static_cast<size_t>(rank)].call.text(), join(late, ", "));
  }

  template <class Why>
  [[noreturn]] void stop(std::string why) {
    stopped_ = std::move(why);
    changed_.notify_all();
    throw Why(*stopped_);
  }
  void throw_if_stopped() const {
    if (stopped_) raise<Aborted>("Communication on a GPU was stopped: {}", *stopped_);
  }

  Runtime& runtime_;
  int size_;
  std::chrono::milliseconds timeout_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  ArrayReducer reducer_;
  std::shared_ptr<Round> round_;  // currently being joined by ranks
  std::optional<std::string> stopped_;
};

class OneCardCollectives : public DeviceCollectives {
 public:
  OneCardCollectives(std::shared_ptr<CardMeeting> meeting, Runtime& runtime, int rank, int size,
                     int gpu)
      : meeting_(std::move(meeting)), runtime_(runtime), rank_(rank), size_(size), gpu_(gpu) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int gpu() const override { return gpu_; }

  void all_reduce(RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                  ReduceOp op) override {
    require_reducible_on_gpus(dtype);
    meeting_->call(rank_, stream, {Kind::AllReduce, {segments.begin(), segments.end()}, dtype, op});
  }
  void reduce_scatter(RuntimeStream* stream, const void* in, void* out, int64_t count_per_rank,
                      DType dtype, ReduceOp op) override {
    require_reducible_on_gpus(dtype);
    meeting_->call(rank_, stream,
                   {Kind::ReduceScatter, {{in, out, count_per_rank * size_}}, dtype, op});
  }
  void all_gather(RuntimeStream* stream, const void* in, void* out,
                  size_t bytes_per_rank) override {
    meeting_->call(rank_, stream,
                   {Kind::AllGather, {{in, out, static_cast<int64_t>(bytes_per_rank)}}});
  }
  void broadcast(RuntimeStream* stream, void* data, size_t bytes, int root) override {
    const Segment segment{data, data, static_cast<int64_t>(bytes)};
    meeting_->call(rank_, stream, {Kind::Broadcast, {segment}, {}, ReduceOp::Sum, root});
  }

  void check_state() override { meeting_->check_state(); }
  // Enqueued work doesn't wait for other ranks.
  void synchronize(const RuntimeEvent& event) override { runtime_.synchronize(event); }
  void abort() override { meeting_->abort(); }

 private:
  static void require_reducible_on_gpus(DType dtype) {
    check<Unimplemented>(dtype != DType::Bool && dtype != DType::String,
                         "Collective on a GPU: no reduction of {}. Cast it to int32.", dtype);
  }

  std::shared_ptr<CardMeeting> meeting_;
  Runtime& runtime_;
  int rank_;
  int size_;
  int gpu_;
};

}  // namespace

std::vector<std::unique_ptr<DeviceCollectives>> make_one_card_collectives(
    Runtime& runtime, int gpu, int size, std::chrono::milliseconds timeout) {
  const auto meeting = std::make_shared<CardMeeting>(runtime, gpu, size, timeout);
  std::vector<std::unique_ptr<DeviceCollectives>> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.push_back(std::make_unique<OneCardCollectives>(meeting, runtime, rank, size, gpu));
  }
  return ranks;
}

}  // namespace cornu::cuda
