// SPDX-License-Identifier: Apache-2.0
// Guards for what threads may do concurrently to a model.
#pragma once

#include <mutex>
#include <optional>
#include <thread>

#include "framework/core/variable_bindings.h"

namespace cornu {

// Held by one thread at a time; recursive.
class ThreadOwned {
 public:
  bool try_enter();
  void leave();

 private:
  std::mutex mutex_;
  std::thread::id owner_;
  int depth_ = 0;
};

// Guard for training. Throws FailedPrecondition, naming the model, while another thread trains it.
class [[nodiscard]] TrainingScope {
 public:
  TrainingScope(ThreadOwned& training, const std::string& model);
  ~TrainingScope() { training_.leave(); }
  TrainingScope(const TrainingScope&) = delete;
  TrainingScope& operator=(const TrainingScope&) = delete;

 private:
  ThreadOwned& training_;
};

// Waits, when destroyed, for steps that were only begun (StrategyImpl::begin_step), ignoring their
// exceptions.
class [[nodiscard]] BegunSteps {
 public:
  BegunSteps() = default;
  ~BegunSteps();
  BegunSteps(const BegunSteps&) = delete;
  BegunSteps& operator=(const BegunSteps&) = delete;
};

// Provides the metrics' state for a run: the model's own or, while another thread uses that, copies
// that last until the end of the run. `belongs` and `reset` are as for VariableBindings.
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
