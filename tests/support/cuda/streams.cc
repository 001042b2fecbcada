// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/streams.h"

#include <algorithm>
#include <utility>

namespace cornu::cuda {

using simulated::Operation;

void RuntimeStream::enqueue(Operation operation) {
  if (captured_) {
    captured_->add(std::move(operation));
  } else {
    queue_.push_back(std::move(operation));
  }
}

bool RuntimeStream::run_until(uint64_t end) {
  if (done_ >= end) return true;
  if (runs_) return false;  // streams that wait for each other
  runs_ = true;
  const std::unique_ptr<bool, void (*)(bool*)> running(&runs_, [](bool* runs) { *runs = false; });
  while (done_ < end) {
    if (queue_.front().prepare && !queue_.front().prepare()) return false;
    const Operation operation = std::move(queue_.front());
    queue_.pop_front();
    ++done_;
    operation.run();
  }
  return true;
}

const Operation* RuntimeStream::find(const void* memory) const {
  const auto names_it = [&](const Operation& operation) {
    return std::ranges::find(operation.memory, memory) != operation.memory.end();
  };
  const auto found = std::ranges::find_if(queue_, names_it);
  return found == queue_.end() ? nullptr : &*found;
}

void RuntimeStream::begin_capture() {
  captured_ = std::make_unique<RuntimeGraph>(gpu_);
  is_spoilt_ = false;
}

std::shared_ptr<RuntimeGraph> RuntimeStream::end_capture() {
  std::shared_ptr<RuntimeGraph> graph = std::move(captured_);
  captured_ = nullptr;
  return is_spoilt_ ? nullptr : graph;
}

bool RuntimeEvent::ask() {
  if (!is_done() && ++questions_ >= kPatience) run();
  return is_done();
}

Operation RuntimeGraph::as_operation() const {
  Operation all{.name = "a captured graph", .memory = {}, .run = {}};
  for (const Operation& operation : *operations_) {
    all.memory.insert(all.memory.end(), operation.memory.begin(), operation.memory.end());
  }
  all.run = [operations = operations_] {
    for (const Operation& operation : *operations) operation.run();
  };
  return all;
}

}  // namespace cornu::cuda
