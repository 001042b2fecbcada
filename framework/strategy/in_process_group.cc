// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/in_process_group.h"

#include "framework/strategy/collective_calls.h"

namespace cornu {
namespace {

using Kind = CollectiveCall::Kind;

class InProcessGroup : public CollectiveGroup {
 public:
  InProcessGroup(std::shared_ptr<CollectiveCalls> calls, int rank, int size)
      : calls_(std::move(calls)), rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) override {
    await(start_all_reduce(segments, dtype, op));
  }
  using CollectiveGroup::all_reduce;

  int64_t start_all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) override {
    return calls_->start(rank_,
                         {Kind::AllReduce, {segments.begin(), segments.end()}, dtype, op, 0});
  }
  void await(int64_t ticket) override { calls_->await(rank_, ticket); }

  void reduce_scatter(const void* in, void* out, int64_t count_per_rank, DType dtype,
                      ReduceOp op) override {
    call({Kind::ReduceScatter, {{in, out, count_per_rank * size_}}, dtype, op, 0});
  }
  void all_gather(const void* in, void* out, size_t bytes_per_rank) override {
    const auto bytes = static_cast<int64_t>(bytes_per_rank);
    call({Kind::AllGather, {{in, out, bytes}}, {}, ReduceOp::Sum, 0});
  }
  void broadcast(void* data, size_t bytes, int root) override {
    const auto count = static_cast<int64_t>(bytes);
    call({Kind::Broadcast, {{data, data, count}}, {}, ReduceOp::Sum, root});
  }
  void barrier() override { call({}); }

  void end_step() override { calls_->end_step(); }
  void abort(const std::string& why) override { calls_->abort(why); }

 private:
  void call(CollectiveCall made) { await(calls_->start(rank_, std::move(made))); }

  std::shared_ptr<CollectiveCalls> calls_;
  int rank_;
  int size_;
};

}  // namespace

std::vector<std::unique_ptr<CollectiveGroup>> make_in_process_group(
    int size, const InProcessGroupOptions& options) {
  const int reducers = options.reducers == Reducers::First ? 1 : size;
  auto calls = std::make_shared<CollectiveCalls>(size, reducers, options.timeout);
  std::vector<std::unique_ptr<CollectiveGroup>> group;
  for (int rank = 0; rank < size; ++rank) {
    group.push_back(std::make_unique<InProcessGroup>(calls, rank, size));
  }
  return group;
}

}  // namespace cornu
