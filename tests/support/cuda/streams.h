// SPDX-License-Identifier: Apache-2.0
// Streams, events and captured graphs. An enqueued operation stays in its stream until the host
// waits for it, or for something that comes after it in its stream or in a stream that waits for an
// event after it, or that takes part in a collective with it. The caller holds the simulator's
// lock.
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
  // Runs the operations in other streams that this one depends on; returns false when they aren't
  // enqueued yet. Empty when there are no such dependencies.
  std::function<bool()> prepare = {};
};

}  // namespace simulated

class RuntimeStream {
 public:
  explicit RuntimeStream(int gpu) : gpu_(gpu) {}

  int gpu() const { return gpu_; }

  void enqueue(simulated::Operation operation);
  // The number of operations enqueued so far.
  uint64_t enqueued() const { return done_ + queue_.size(); }
  uint64_t done() const { return done_; }
  // Runs the operations before number `end`; returns false when one of them waits for something
  // that another thread has yet to enqueue. An operation that fails is removed.
  bool run_until(uint64_t end);
  // Returns a pending operation that uses the memory, or null when there is none.
  const simulated::Operation* find(const void* memory) const;

  void begin_capture();
  bool is_capturing() const { return captured_ != nullptr; }
  std::shared_ptr<RuntimeGraph> end_capture();
  // Marks the captured graph as unusable after an error during the capture.
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
  // Implements the Runtime's is_done; the third call runs the operations that the event depends on.
  bool ask();
  // Returns false when the event can't happen yet.
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
  // All operations as a single one, which stays valid after the graph is destroyed.
  simulated::Operation as_operation() const;

 private:
  int gpu_;
  std::shared_ptr<std::vector<simulated::Operation>> operations_ =
      std::make_shared<std::vector<simulated::Operation>>();
};

}  // namespace cornu::cuda
