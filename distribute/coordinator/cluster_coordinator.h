// SPDX-License-Identifier: Apache-2.0
// Asynchronous scheduling of steps on workers (tf.distribute.coordinator).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/tensors.h"
#include "framework/graph/function.h"
#include "framework/strategy/strategy.h"

namespace cornu::distribute {

struct ScheduledStep;
struct WorkerDataset;
class StepScheduler;

// The future result of a scheduled step (tf.distribute.coordinator.RemoteValue). A cheap handle; it
// keeps the strategy alive.
class RemoteValue {
 public:
  // Blocks until the result is available. Throws the step's error, or Aborted when the step wasn't
  // run because another one had failed.
  Tensors fetch() const;

 private:
  friend class ClusterCoordinator;
  RemoteValue(Strategy strategy, std::shared_ptr<ScheduledStep> step)
      : strategy_(std::move(strategy)), step_(std::move(step)) {}

  Strategy strategy_;
  std::shared_ptr<ScheduledStep> step_;
};

// A dataset that every worker iterates over by itself (tf.distribute.DistributedValues of
// datasets). A step scheduled with it gets the next batch of the worker that runs it, whose tensors
// are the step's arguments. A restarted worker starts from the beginning. A cheap handle.
class PerWorkerDataset {
 private:
  friend class ClusterCoordinator;
  explicit PerWorkerDataset(std::shared_ptr<const WorkerDataset> dataset)
      : dataset_(std::move(dataset)) {}

  std::shared_ptr<const WorkerDataset> dataset_;
};

// Schedules steps on the workers of a ParameterServerStrategy. Steps are traced in this process, on
// their first schedule(), and compiled by the workers; each step runs on one worker, and several
// run concurrently. A cheap handle; thread-safe.
class ClusterCoordinator {
 public:
  // Throws InvalidArgument for any other strategy.
  explicit ClusterCoordinator(Strategy strategy);

  const Strategy& strategy() const { return strategy_; }

  // Queues a step and returns; blocks while very many are queued. The first error of an earlier
  // step is thrown once, by this function or by join; the steps that were queued at that time
  // aren't run.
  RemoteValue schedule(const Function& step, const PerWorkerDataset& dataset) const;
  RemoteValue schedule(const Function& step, std::vector<Tensors> arguments) const;
  template <class... Args>
  requires(std::is_convertible_v<const Args&, Tensors>&&...) RemoteValue
      schedule(const Function& step, const Args&... arguments)
  const { return schedule(step, std::vector<Tensors>{Tensors(arguments)...}); }

  // Blocks until all steps have been run. Throws like schedule.
  void join() const;
  // Non-blocking join: whether all steps have been run.
  bool done() const;
  Tensors fetch(const RemoteValue& value) const { return value.fetch(); }
  std::vector<Tensors> fetch(const std::vector<RemoteValue>& values) const;

  // Creates a dataset for each worker. `make` is called in this process, with an InputContext or
  // without arguments, and its result is sent to the worker (throws FailedPrecondition if it can't
  // be: data/serialization.h). The dataset yields batches like those for fit. Its first batch is
  // also computed here, to determine the structure of its batches.
  template <class F>
  requires(std::is_invocable_v<F, const InputContext&> || std::is_invocable_v<F>) PerWorkerDataset
      create_per_worker_dataset(const F& make)
  const {
    return per_worker_dataset([&](const InputContext& context) {
      if constexpr (std::is_invocable_v<F, const InputContext&>) {
        return std::shared_ptr<BatchSource>(make(context));
      } else {
        static_cast<void>(context);
        return std::shared_ptr<BatchSource>(make());
      }
    });
  }
  // Sends the same dataset to each worker; one that shuffles has the same order on all of them.
  PerWorkerDataset create_per_worker_dataset(const std::shared_ptr<BatchSource>& dataset) const {
    return per_worker_dataset([&](const InputContext&) { return dataset; });
  }

 private:
  PerWorkerDataset per_worker_dataset(
      const std::function<std::shared_ptr<BatchSource>(const InputContext&)>& make) const;

  Strategy strategy_;
  StepScheduler* scheduler_;  // owned by the strategy
};

}  // namespace cornu::distribute
