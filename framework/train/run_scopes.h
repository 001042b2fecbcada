// SPDX-License-Identifier: Apache-2.0
// Which threads may do what to one model at a time.
#pragma once

#include <mutex>
#include <optional>
#include <thread>

#include "framework/core/variable_bindings.h"

namespace cornu {

// Held by one thread at a time, which may take it again.
class ThreadOwned {
 public:
  bool try_enter();
  void leave();

 private:
  std::mutex mutex_;
  std::thread::id owner_;
  int depth_ = 0;
};

// Training: FailedPrecondition, naming the model, while another thread does it.
class [[nodiscard]] TrainingScope {
 public:
  TrainingScope(ThreadOwned& training, const std::string& model);
  ~TrainingScope() { training_.leave(); }
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;

 private:
  ThreadOwned& training_;
};

// Waits at its end for steps that were only begun (StrategyImpl::begin_step), whatever they throw.
class [[nodiscard]] BegunSteps {
 public:
  BegunSteps() = default;
  ~BegunSteps();
  BegunSteps(const BegunSteps&) = delete;
  BegunSteps& operator=(const BegunSteps&) = delete;
};

// The metrics' state during a run: the model's own, or copies that end with the run while another
// thread has that. `belongs` and `reset` are as for VariableBindings.
class [[nodiscard]] MetricScope {
 public:
  MetricScope(ThreadOwned& metrics, std::function<bool(const Variable&)> belongs,
              std::function<void()> reset);
  ~MetricScope();
  MetricScope(const MetricScope&) = delete;
  MetricScope& operator=(const MetricScope&) = delete;

 private:
  ThreadOwned& metrics_;
  std::optional<VariableBindings> copies_;
};

}  // namespace cornu
