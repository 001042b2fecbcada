// SPDX-License-Identifier: Apache-2.0
// Steps that workers run at their own pace (tf.distribute.coordinator).
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

// What a scheduled step gives, when a worker has run it (tf.distribute.coordinator.RemoteValue). A
// cheap handle; it keeps the strategy.
class RemoteValue {
 public:
  // Waits for it. The step's error; Aborted where it wasn't run since another one had failed.
  Tensors fetch() const;

 private:
  friend class ClusterCoordinator;
  RemoteValue(Strategy strategy, std::shared_ptr<ScheduledStep> step)
      : strategy_(std::move(strategy)), step_(std::move(step)) {}

  Strategy strategy_;
  std::shared_ptr<ScheduledStep> step_;
};

// A dataset that every worker goes over by itself (tf.distribute.DistributedValues of datasets).
// A step that is scheduled with it gets the next batch of the worker that runs it: its tensors are
// the step's arguments. A worker that was started again begins anew. A cheap handle.
class PerWorkerDataset {
 private:
  friend class ClusterCoordinator;
  explicit PerWorkerDataset(std::shared_ptr<const WorkerDataset> dataset)
      : dataset_(std::move(dataset)) {}

  std::shared_ptr<const WorkerDataset> dataset_;
};

// Schedules steps on the workers of a ParameterServerStrategy. Steps are traced here, the first
// time within schedule(), and compiled by workers; each runs on one worker, and several at once.
// A cheap handle; thread-safe.
class ClusterCoordinator {
 public:
  // InvalidArgument for another strategy.
  explicit ClusterCoordinator(Strategy strategy);

  const Strategy& strategy() const { return strategy_; }

  // Queues a step, and returns; waits where very many are queued. The first error of an earlier
  // step is thrown here, or by join, once; the steps that waited then aren't run.
  RemoteValue schedule(const Function& step, const PerWorkerDataset& dataset) const;
  RemoteValue schedule(const Function& step, std::vector<Tensors> arguments) const;
  template <class... Args>
  requires(std::is_convertible_v<const Args&, Tensors>&&...) RemoteValue
      schedule(const Function& step, const Args&... arguments)
  const { return schedule(step, std::vector<Tensors>{Tensors(arguments)...}); }

  // Waits until all steps have been run. Throws as schedule does.
  void join() const;
  // Whether they have, as join without waiting.
  bool done() const;
  Tensors fetch(const RemoteValue& value) const { return value.fetch(); }
  std::vector<Tensors> fetch(const std::vector<RemoteValue>& values) const;

  // A dataset for each worker, that `make` makes here of an InputContext, or of nothing: it is sent
  // to the worker (FailedPrecondition where it can't be: data/serialization.h). It gives batches,
  // as fit takes them. Its first batch is made here, too, to see of what kind it is.
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
  // The same one for each worker.
  PerWorkerDataset create_per_worker_dataset(const std::shared_ptr<BatchSource>& dataset) const {
    return per_worker_dataset([&](const InputContext&) { return dataset; });
  }

 private:
  PerWorkerDataset per_worker_dataset(
      const std::function<std::shared_ptr<BatchSource>(const InputContext&)>& make) const;

  Strategy strategy_;
  StepScheduler* scheduler_;  // the strategy's
};

}  // namespace cornu::distribute
