// SPDX-License-Identifier: Apache-2.0
// A replica's end of a group that also reduces in the memory of GPUs.
#pragma once

#include <memory>
#include <vector>

#include "framework/backends/cuda/device_collectives.h"
#include "framework/graph/communicator.h"

namespace cornu::cuda {

class ConnectedGroup : public CollectiveGroup {
 public:
  using Links = std::vector<std::unique_ptr<DeviceCollectives>>;  // by rank

  // What lies on the host goes through `group`.
  ConnectedGroup(std::unique_ptr<CollectiveGroup> group, std::shared_ptr<Links> links)
      : group_(std::move(group)), links_(std::move(links)) {}

  // For what lies on this replica's GPU.
  DeviceCollectives& link() const { return *(*links_)[static_cast<size_t>(rank())]; }

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
  void end_step() override { group_->end_step(); }
  // GPUs that wait for this replica's would do so for ever: all are let go.
  void abort(const std::string& why) override {
    group_->abort(why);
    for (const auto& link : *links_) link->abort();
  }

 private:
  std::unique_ptr<CollectiveGroup> group_;
  std::shared_ptr<Links> links_;
};

}  // namespace cornu::cuda
