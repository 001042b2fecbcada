// SPDX-License-Identifier: Apache-2.0
// GPUs of several processes that communicate by their library.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "framework/backends/cuda/connected_group.h"
#include "framework/backends/cuda/gpu_device.h"
#include "framework/graph/process_group.h"

namespace cornu::cuda {

// Ends with the group of the processes: a GPU that waits for one whose process is gone is let go.
// What was under way then isn't known to be right, so that who reads its results, or the variables
// that it writes, gets the error that has ended the group.
//
// Before each step the processes have compared the collective calls that it has outside of loops
// and branches. How often those within are made depends on values: they go through the hosts'
// memory, where calls are compared one by one.
class ProcessConnection : public Connection,
                          public GroupConnection,
                          public std::enable_shared_from_this<ProcessConnection> {
 public:
  // `links`: of these devices, in their order.
  ProcessConnection(Runtime& runtime, Links links, std::vector<GpuDevice*> devices)
      : Connection(runtime, std::move(links)), devices_(std::move(devices)) {}

  std::vector<std::unique_ptr<CollectiveGroup>> over(
      std::vector<std::unique_ptr<CollectiveGroup>> ends) override;
  void settle() override;

  void all_reduce(int rank, RuntimeStream* stream, std::span<const Segment> segments, DType dtype,
                  ReduceOp op) override;
  void check_state(int rank) override;
  // The end of the processes' group, which tells why, is all that is needed.
  void abort() override {}
  std::shared_ptr<const StoppedRun> follow(std::shared_ptr<RuntimeEvent> done) override;

  // What the group's end calls.
  void stop(const std::exception_ptr& why);

 private:
  struct Run {
    std::shared_ptr<RuntimeEvent> done;
    std::shared_ptr<StoppedRun> outcome;
  };

  [[noreturn]] void throw_cause(const std::exception_ptr& seen);

  std::vector<GpuDevice*> devices_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable ended_;
  std::exception_ptr why_;  // the group has ended; null: it hasn't
  std::deque<Run> runs_;    // that may be under way, the oldest first
};

// Connects replicas on these devices with those of the other processes. Null, in all of them alike,
// where they can't be, and a warning that says why. Throws what ends the group.
std::shared_ptr<GroupConnection> connect_processes(Runtime& runtime,
                                                   std::vector<GpuDevice*> devices,
                                                   ProcessGroup& processes);

}  // namespace cornu::cuda
