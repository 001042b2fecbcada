// SPDX-License-Identifier: Apache-2.0
#include "framework/train/run_scopes.h"

#include "framework/strategy/strategy.h"

namespace cornu {

bool ThreadOwned::try_enter() {
  const std::lock_guard lock(mutex_);
  if (depth_ > 0 && owner_ != std::this_thread::get_id()) return false;
  owner_ = std::this_thread::get_id();
  ++depth_;
  return true;
}

void ThreadOwned::leave() {
  const std::lock_guard lock(mutex_);
  --depth_;
}

TrainingScope::TrainingScope(ThreadOwned& training, const std::string& model)
    : training_(training) {
  check<FailedPrecondition>(training_.try_enter(),
                            "{}: another thread is training it. Train one model from one thread at "
                            "a time; predict and evaluate may be called meanwhile.",
                            model);
}

MetricScope::MetricScope(ThreadOwned& metrics, std::function<bool(const Variable&)> belongs,
                         std::function<void()> reset)
    : metrics_(metrics) {
  if (!metrics_.try_enter()) copies_.emplace(std::move(belongs), std::move(reset));
}

MetricScope::~MetricScope() {
  if (!copies_) metrics_.leave();
}

BegunSteps::~BegunSteps() { get_strategy().impl().end_steps(); }

}  // namespace cornu
