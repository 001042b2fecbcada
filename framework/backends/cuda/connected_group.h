// SPDX-License-Identifier: Apache-2.0
// A replica's end of a group that also reduces in the memory of GPUs.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "framework/backends/cuda/runtime.h"
#include "framework/backends/cuda/stopped_run.h"
#include "framework/graph/collective_call.h"

namespace cornu::cuda {

// What the ends of a group share. Whoever enqueues for GPUs waits for no other rank, and what has
// been enqueued can't be taken back: the ranks' calls are compared here, lest GPUs wait for ever,
// or write where they mustn't.
class Connection {
 public:
  using Links = std::vector<std::unique_ptr<DeviceCollectives>>;  // by rank, of this process

  Connection(Runtime& runtime, Links links)
      : runtime_(runtime),
        links_(std::move(links)),
        first_(links_.front()->rank()),
        ranks_(links_.size()) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Enqueues a rank's call on its stream. RanksDiffer where others call something else in its
  // place, or nothing; Aborted.
  virtual void all_reduce(int rank, RuntimeStream* stream, std::span<const Segment> segments,
                          DType dtype, ReduceOp op);
  // Throws what went wrong.
  virtual void check_state(int rank) { links_[index_of(rank)]->check_state(); }
  // RanksDiffer where others have called more.
  void end_step(int rank);
  // Lets go all GPUs that wait for others in this step. Earlier ones are completed before.
  virtual void abort();
  // Whether some of the ranks are other processes'.
  bool spans_processes() const { return links_.size() < static_cast<size_t>(links_[0]->size()); }
  // Called with the device's lock held when a run with calls has been enqueued that will be `done`,
  // where they span processes: what tells whether it was stopped.
  virtual std::shared_ptr<const StoppedRun> follow(std::shared_ptr<RuntimeEvent> done) {
    static_cast<void>(done);
    return nullptr;
  }

 protected:
  Runtime& runtime() const { return runtime_; }
  const Links& links() const { return links_; }

 private:
  struct Rank {
    size_t calls = 0;  // of this step
    bool ended = false;
    std::shared_ptr<RuntimeEvent> last;     // when its GPU is done with its last call
    std::shared_ptr<RuntimeEvent> settled;  // with those of the steps that all ranks have ended
  };

  size_t index_of(int rank) const { return static_cast<size_t>(rank - first_); }
  void compare(int rank, const CollectiveCall& call);

  Runtime& runtime_;
  Links links_;
  int first_;         // rank of this process
  std::mutex mutex_;  // guards all that follows
  std::vector<Rank> ranks_;
  struct Made {
    int rank;
    CollectiveCall call;
  };
  std::vector<Made> calls_;  // of this step, as the first rank made them
};

class ConnectedGroup : public CollectiveGroup {
 public:
  // What lies on the host goes through `group`.
  ConnectedGroup(std::unique_ptr<CollectiveGroup> group, std::shared_ptr<Connection> connection)
      : group_(std::move(group)), connection_(std::move(connection)) {}

  // Of what lies on this replica's GPU.
  void all_reduce(RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                  ReduceOp op) {
    connection_->all_reduce(rank(), stream, segments, dtype, op);
  }
  void check_state() { connection_->check_state(rank()); }
  Connection& connection() const { return *connection_; }

  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  void all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) override {
    group_->all_reduce(segments, dtype, op);
  }
  using CollectiveGroup::all_reduce;
  int64_t start_all_reduce(std::span<const Segment> segments, DType dtype, ReduceOp op) override {
    return group_->start_all_reduce(segments, dtype, op);
  }
  void await(int64_t ticket) override { group_->await(ticket); }
  std::byte* memory(size_t bytes) override { return group_->memory(bytes); }
  void reduce_scatter(const void* in, void* out, int64_t count_per_rank, DType dtype,
                      ReduceOp op) override {
    group_->reduce_scatter(in, out, count_per_rank, dtype, op);
  }
  void all_gather(const void* in, void* out, size_t bytes_per_rank) override {
    group_->all_gather(in, out, bytes_per_rank);
  }
  void broadcast(void* data, size_t bytes, int root) override {
    group_->broadcast(data, bytes, root);
  }
  void barrier() override { group_->barrier(); }
  void end_step() override {
    connection_->end_step(rank());
    group_->end_step();
  }
  void abort(const std::string& why) override {
    group_->abort(why);
    connection_->abort();
  }

 private:
  std::unique_ptr<CollectiveGroup> group_;
  std::shared_ptr<Connection> connection_;
};

}  // namespace cornu::cuda
