// SPDX-License-Identifier: Apache-2.0
// Streams, events and captured graphs. What is enqueued lies there until the host waits for it, or
// for something that comes after it in its stream or in one that waits for an event behind it, or
// takes part in a collective with it. The caller holds the simulator's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

namespace simulated {

struct Operation {
  std::string name;
  std::vector<const void*> memory;  // the allocations that it reads or writes
  std::function<void()> run;
  // Runs what it depends on in other streams: false where that isn't enqueued yet. None: nothing.
  std::function<bool()> prepare = {};
};

}  // namespace simulated

class RuntimeStream {
 public:
  explicit RuntimeStream(int gpu) : gpu_(gpu) {}

  int gpu() const { return gpu_; }

  void enqueue(simulated::Operation operation);
  // The number of operations that have been enqueued so far.
  uint64_t enqueued() const { return done_ + queue_.size(); }
  uint64_t done() const { return done_; }
  // Runs the operations before number `end`; false where one waits for what another thread has to
  // enqueue. An operation that fails is gone.
  bool run_until(uint64_t end);
  // The operation that is to run and names the memory; null when there is none.
  const simulated::Operation* find(const void* memory) const;

  void begin_capture();
  bool is_capturing() const { return captured_ != nullptr; }
  std::shared_ptr<RuntimeGraph> end_capture();
  // What has gone wrong within the capture makes its graph unusable.
  void spoil_capture() { is_spoilt_ = true; }

 private:
  int gpu_;
  std::deque<simulated::Operation> queue_;
  uint64_t done_ = 0;
  bool runs_ = false;
  std::unique_ptr<RuntimeGraph> captured_;
  bool is_spoilt_ = false;
};

class RuntimeEvent {
 public:
  explicit RuntimeEvent(RuntimeStream& stream) : stream_(stream), end_(stream.enqueued()) {}

  bool is_done() const { return stream_.done() >= end_; }
  // What is_done of the Runtime answers; the third time, runs what it depends on.
  bool ask();
  // False where it can't happen yet.
  bool run() const { return stream_.run_until(end_); }

 private:
  static constexpr int kPatience = 3;

  RuntimeStream& stream_;
  uint64_t end_;
  int questions_ = 0;
};

class RuntimeGraph {
 public:
  explicit RuntimeGraph(int gpu) : gpu_(gpu) {}

  int gpu() const { return gpu_; }
  void add(simulated::Operation operation) { operations_->push_back(std::move(operation)); }
  // All of them as one, which stays whole when the graph is destroyed.
  simulated::Operation as_operation() const;

 private:
  int gpu_;
  std::shared_ptr<std::vector<simulated::Operation>> operations_ =
      std::make_shared<std::vector<simulated::Operation>>();
};

}  // namespace cornu::cuda
