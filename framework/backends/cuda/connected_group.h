// SPDX-License-Identifier: Apache-2.0
// A replica's end of a group that also reduces in GPU memory.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "framework/backends/cuda/runtime.h"
#include "framework/backends/cuda/stopped_run.h"
#include "framework/graph/collective_call.h"

namespace cornu::cuda {

// State shared by the ends of a group. Enqueueing work for a GPU doesn't wait for other ranks, and
// enqueued work can't be canceled. The ranks' calls are therefore compared here, so that GPUs
// neither wait forever nor write where they mustn't.
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

  // Enqueues a rank's call on its stream. Throws RanksDiffer when other ranks make a different call
  // or none, and Aborted.
  virtual void all_reduce(int rank, RuntimeStream* stream, std::span<const Segment> segments,
                          DType dtype, ReduceOp op);
  // Throws the group's error, if any.
  virtual void check_state(int rank) { links_[index_of(rank)]->check_state(); }
  // Throws RanksDiffer when other ranks have made more calls.
  void end_step(int rank);
  // Releases all GPUs that wait for others in this step. Earlier steps are completed first.
  virtual void abort();
  // Whether some of the ranks belong to other processes.
  bool spans_processes() const { return links_.size() < static_cast<size_t>(links_[0]->size()); }
  // For groups that span processes: called with the device's lock held when a run with calls has
  // been enqueued. `done`: its completion. Returns an object that tells whether the run was
  // stopped.
  virtual std::shared_ptr<const StoppedRun> follow(std::shared_ptr<RuntimeEvent> done) {
    static_cast<void>(done);
    return nullptr;
  }

 protected:
  Runtime& runtime() const { return runtime_; }
  const Links& links() const { return links_; }

 private:
  struct Rank {
    size_t calls = 0;  // in this step
    bool ended = false;
    std::shared_ptr<RuntimeEvent> last;     // its GPU has completed its last call
    std::shared_ptr<RuntimeEvent> settled;  // the same for the last step that all ranks have ended
  };

  size_t index_of(int rank) const { return static_cast<size_t>(rank - first_); }
  void compare(int rank, const CollectiveCall& call);

  Runtime& runtime_;
  Links links_;
  int first_;         // of this process
  std::mutex mutex_;  // guards all members below
  std::vector<Rank> ranks_;
  struct Made {
    int rank;
    CollectiveCall call;
  };
  std::vector<Made> calls_;  // of this step, as made by the first rank to get there
};

class ConnectedGroup : public CollectiveGroup {
 public:
  // Tensors in host memory go through `group`.
  ConnectedGroup(std::unique_ptr<CollectiveGroup> group, std::shared_ptr<Connection> connection)
      : group_(std::move(group)), connection_(std::move(connection)) {}

  // For tensors in this replica's GPU memory.
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
