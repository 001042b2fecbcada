// SPDX-License-Identifier: Apache-2.0
// GPUs of several processes that communicate by their library.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "framework/backends/cuda/connected_group.h"
#include "framework/backends/cuda/gpu_device.h"
#include "framework/backends/cuda/run_watch.h"
#include "framework/graph/process_group.h"

namespace cornu::cuda {

// Ends with the group of the processes: a GPU that waits for one whose process is gone is let go.
// What was under way then isn't known to be right. Who reads what depends on it gets the error that
// has ended the group; variables that it writes are poisoned, which tells of that error.
//
// Before each step the processes have compared the collective calls that it has outside of loops
// and branches. How often those within are made depends on values: they go through the hosts'
// memory, where calls are compared one by one.
class ProcessConnection : public Connection,
                          public GroupConnection,
                          public std::enable_shared_from_this<ProcessConnection> {
 public:
  // `links`: of these devices, in their order.
  ProcessConnection(Runtime& runtime, Links links, std::vector<GpuDevice*> devices,
                    const std::shared_ptr<ProcessGroup>& processes,
                    std::chrono::milliseconds timeout);
  ~ProcessConnection() override;

  std::vector<std::unique_ptr<CollectiveGroup>> over(
      std::vector<std::unique_ptr<CollectiveGroup>> ends) override;
  void settle() override;

  void all_reduce(int rank, RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                  ReduceOp op) override;
  void check_state(int rank) override;
  // The end of the processes' group, which tells why, is all that is needed.
  void abort() override {}
  std::shared_ptr<const StoppedRun> follow(std::shared_ptr<RuntimeEvent> done) override {
    return watch_->follow(std::move(done));
  }

 private:
  template <class Call>
  void with_cause(const Call& call);
  void forget(const std::exception_ptr& why);

  std::vector<GpuDevice*> devices_;
  std::unique_ptr<RunWatch> watch_;
};

// Connects replicas on these devices with those of the other processes. Null, in all of them alike,
// where they can't be, or aren't in time, and a warning that says why. `connecting`: how long the
// library may take for it: where it can't, it seldom says so. Throws what ends the group.
inline constexpr std::chrono::seconds kMostConnecting{60};
std::shared_ptr<GroupConnection> connect_processes(
    Runtime& runtime, std::vector<GpuDevice*> devices,
    const std::shared_ptr<ProcessGroup>& processes, std::chrono::milliseconds timeout,
    std::chrono::milliseconds connecting = kMostConnecting);

}  // namespace cornu::cuda
