// SPDX-License-Identifier: Apache-2.0
// GPUs of several processes that communicate through their library.
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

// Ends with the processes' group: a GPU that waits for one whose process is gone is released. The
// work in flight at that time isn't known to be correct. Readers of anything that depends on it get
// the error that ended the group; variables written by it are poisoned with that error.
//
// Before each step, the processes have compared its collective calls outside of loops and branches.
// How often the calls within these are made depends on values, so they go through host memory,
// where calls are compared one by one.
class ProcessConnection : public Connection,
                          public GroupConnection,
                          public std::enable_shared_from_this<ProcessConnection> {
 public:
  // `links`: those of these devices, in the same order.
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
  // No-op: the end of the processes' group is sufficient, and carries the reason.
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

// Connects replicas on these devices with those of the other processes. Returns null, in all
// processes alike, and logs a warning with the reason when they can't be connected, or not in time.
// `connecting`: time limit for the library, which seldom reports that it can't connect. Throws the
// error that ends the group.
inline constexpr std::chrono::seconds kMaxConnecting{60};
std::shared_ptr<GroupConnection> connect_processes(
    Runtime& runtime, std::vector<GpuDevice*> devices,
    const std::shared_ptr<ProcessGroup>& processes, std::chrono::milliseconds timeout,
    std::chrono::milliseconds connecting = kMaxConnecting);

}  // namespace cornu::cuda
