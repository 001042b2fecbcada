// SPDX-License-Identifier: Apache-2.0
#include "distribute/coordinator/cluster_coordinator.h"

#include "distribute/parameter_server/schedules_steps.h"
#include "distribute/parameter_server/step_scheduler.h"
#include "distribute/parameter_server/step_worker.h"
#include "framework/core/error.h"
#include "framework/strategy/scheduled_step.h"

namespace cornu::distribute {
namespace {

StepScheduler& scheduler_of(const Strategy& strategy) {
  auto* schedules = dynamic_cast<SchedulesSteps*>(&strategy.impl());
  check<InvalidArgument>(schedules != nullptr,
                         "ClusterCoordinator: expected a ParameterServerStrategy, got {}.",
                         strategy.name());
  return schedules->scheduler();
}

// A step that is being traced keeps others from being traced: it would wait for itself.
void require_no_trace(const char* call) {
  check<FailedPrecondition>(!ScheduledStepScope::is_open(),
                            "ClusterCoordinator: {} was called within a step that is being traced. "
                            "A step calls functions by itself; schedule steps, and wait for them, "
                            "outside of steps.",
                            call);
}

}  // namespace

Tensors RemoteValue::fetch() const {
  require_no_trace("fetch");
  return scheduler_of(strategy_).result(*step_);
}

ClusterCoordinator::ClusterCoordinator(Strategy strategy)
    : strategy_(std::move(strategy)), scheduler_(&scheduler_of(strategy_)) {}

RemoteValue ClusterCoordinator::schedule(const Function& step,
                                         const PerWorkerDataset& dataset) const {
  require_no_trace("schedule");
  return {strategy_,
          scheduler_->schedule({.function = step, .arguments = {}, .dataset = dataset.dataset_})};
}

RemoteValue ClusterCoordinator::schedule(const Function& step,
                                         std::vector<Tensors> arguments) const {
  require_no_trace("schedule");
  return {strategy_, scheduler_->schedule({.function = step, .arguments = std::move(arguments)})};
}

void ClusterCoordinator::join() const {
  require_no_trace("join");
  scheduler_->join();
}

bool ClusterCoordinator::done() const { return scheduler_->done(); }

std::vector<Tensors> ClusterCoordinator::fetch(const std::vector<RemoteValue>& values) const {
  std::vector<Tensors> fetched;
  for (const RemoteValue& value : values) fetched.push_back(value.fetch());
  return fetched;
}

PerWorkerDataset ClusterCoordinator::per_worker_dataset(
    const std::function<std::shared_ptr<BatchSource>(const InputContext&)>& make) const {
  auto dataset = std::make_shared<WorkerDataset>();
  dataset->number = scheduler_->new_number();
  const auto workers = static_cast<int64_t>(scheduler_->worker_count());
  for (int64_t i = 0; i < workers; ++i) {
    dataset->by_worker.push_back(
        make({.num_input_pipelines = workers, .input_pipeline_id = i, .num_replicas_in_sync = 1}));
    check<InvalidArgument>(dataset->by_worker.back() != nullptr,
                           "ClusterCoordinator: expected a function that makes a dataset, got none "
                           "from it.");
  }
  Batch first;
  check<InvalidArgument>(dataset->by_worker.front()->iterate()->next(first),
                         "ClusterCoordinator: expected a dataset with batches, got none.");
  dataset->sample = arguments_of(first);
  return PerWorkerDataset(std::move(dataset));
}

}  // namespace cornu::distribute
