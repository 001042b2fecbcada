// SPDX-License-Identifier: Apache-2.0
// Strategies: how a step runs on one device or many. The interface, the scope, and the default
// strategy (one replica on the default device). Others are in distribute/strategies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/device.h"
#include "framework/core/error.h"
#include "framework/core/handle.h"
#include "framework/core/tensors.h"
#include "framework/core/variable.h"
#include "framework/graph/communicator.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/strategy/batch_source.h"
#include "framework/strategy/distributed_dataset.h"
#include "framework/strategy/per_replica.h"
#include "framework/strategy/replica_context.h"

namespace cornu {

// The interface that strategies implement. `run` may be called from several threads at once, all
// other functions from one thread at a time. With several workers, only one thread may do what the
// workers do together: another thread that runs such steps, or calls reduce or exchange, at the
// same time gets FailedPrecondition.
class StrategyImpl : public VariableOwner {
 public:
  StrategyImpl();
  uint64_t number() const { return number_; }  // unique among the process's strategies
  virtual std::string name() const = 0;
  virtual int64_t num_replicas_in_sync() const = 0;  // of all workers
  virtual std::vector<Device> devices() const = 0;   // of this process's replicas, in order
  // The device for variables created in its scope; nullopt: as without the scope.
  virtual std::optional<Device> variable_device() const {
    const std::vector<Device> all = devices();
    return all.empty() ? std::nullopt : std::optional(all.front());
  }
  // By default, all variables are kept in this process.
  std::shared_ptr<VariableHome> home_of(const Variable& variable, const Tensor& value) override {
    static_cast<void>(variable), static_cast<void>(value);
    return nullptr;
  }
  // Runs one step on all local replicas concurrently; arguments and results are by local replica.
  // The number of rows of the first tensor is a replica's number of examples; examples are numbered
  // in the order of replicas.
  virtual std::vector<Tensors> run(const Function& step,
                                   const std::vector<std::vector<Tensors>>& arguments) = 0;
  // Like run(), for a single caller that runs step after step and reads results one step late. If
  // steps run elsewhere, this one may still be running on return, and the results are those of the
  // last step that is known to have ended; the first step is waited for. Also throws the errors of
  // earlier steps.
  virtual std::vector<Tensors> begin_step(const Function& step,
                                          const std::vector<std::vector<Tensors>>& arguments) {
    return run(step, arguments);
  }
  // Waits for the steps that have begun. Returns the results of the last one; empty if there was
  // none since end_steps.
  virtual std::vector<Tensors> finish_steps() { return {}; }
  // Like finish_steps, but ignores errors: the caller begins no more steps. The results are lost.
  virtual void end_steps() {}
  // Creates the variables that a step creates, and sets those that it uses to the values that
  // worker 0 has for them. Called by all workers, if there are several.
  virtual void prepare(const Function& step, const std::vector<std::vector<Tensors>>& arguments) {
    static_cast<void>(step), static_cast<void>(arguments);
  }
  // The batches of this process: each is split over its local replicas by split().
  virtual std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) = 0;
  // The parts of a batch by local replica; a part may have no examples.
  virtual std::vector<Batch> split(const Batch& batch) = 0;
  // Reduces the values of local replicas over the replicas of all workers. `call` describes the
  // program's call, for comparison between workers. With several workers, some may have no values.
  virtual Tensor reduce(ReduceOp op, const std::vector<Tensor>& by_replica,
                        const std::string& call) = 0;
  // Whether this process writes checkpoints and logs.
  virtual bool is_chief() const { return true; }
  // Throws FailedPrecondition if this process takes no part in training, but `call` starts one.
  virtual void require_training(const char* call) const { static_cast<void>(call); }
  // Whether it is the default strategy outside of scopes: objects created in its steps belong to no
  // strategy.
  virtual bool is_default() const { return false; }

  // ---- the processes of a job: workers, each with its replicas ----
  virtual int64_t num_workers() const { return 1; }
  virtual int64_t worker() const { return 0; }
  // The minimum number of bytes of gradients that are summed over the replicas together, if there
  // are that many: large transfers cost less per byte, small ones begin earlier.
  virtual size_t bytes_per_pack() const { return size_t{4} << 20; }
  // Whether the replicas of all workers exchange only the rows of sparse gradients, as CPU graphs
  // do.
  virtual bool exchanges_rows() const { return false; }
  // The dtype that float32 gradients are rounded to before they are summed over the replicas;
  // nullopt: no rounding.
  virtual std::optional<DType> gradient_dtype() const { return {}; }
  // Exchanges a string with all workers; returns them by worker. All workers must call it at the
  // same point of their programs, outside of steps: `what` identifies the point and is compared.
  // Throws the errors of CollectiveGroup.
  virtual std::vector<std::string> exchange(std::string_view what, const std::string& own) {
    static_cast<void>(what);
    return {own};
  }
  // Returns the bits that any worker had set when it began its last step; all workers see them
  // after the same step, which lets them act together on something that only one of them has
  // noticed. From now on, this worker's bits in `mask`, which belong to the caller, are set to
  // those in `bits`; only those are returned.
  virtual uint32_t agree(uint32_t mask, uint32_t bits) { return bits & mask; }
  // After PeerLost: waits until the worker is back, and continues with it. All workers must then
  // restore the same state. Rethrows if workers can't come back.
  virtual void rejoin(const PeerLost& lost) { throw lost; }
  // The worker that this worker's group has lost; nullopt if none. Later failures on this worker
  // may be a consequence: values that were being computed together with the lost one are gone.
  virtual std::optional<PeerLost> lost_worker() { return {}; }
  // Whether the launcher of the workers restarts a lost worker, or ends all of them.
  virtual bool restarts_workers() const { return false; }
  // Reports that this worker's program has failed: the other workers' calls end with an error that
  // says so.
  virtual void fail(const std::string& why) { static_cast<void>(why); }
  // Reports that this worker's part of a joint call failed before it contacted the others, possibly
  // for a reason that all of them share: workers that are waiting for it get the same error,
  // prefixed by its name and `before` ("can't run …"). Workers whose own part fails at the same
  // point don't.
  virtual void tell_of_failure(const std::exception& error, const std::string& before) {
    static_cast<void>(error), static_cast<void>(before);
  }
  // Ends this thread's joint work with the other workers: another thread may take over.
  virtual void pass_on() {}
  // Calls `clean_up` once no worker can need what it removes: immediately, or when all have reached
  // the end of their programs. clean_up_now() makes all pending calls; it is for when all workers
  // begin something new.
  virtual void when_all_are_done(std::function<void()> clean_up) { clean_up(); }
  virtual void clean_up_now() {}

 private:
  const uint64_t number_;
};

// Opens the scope of a strategy, and of the device for its variables, until it is destroyed. Scopes
// nest on one thread. Null: leaves the scope unchanged.
class [[nodiscard]] StrategyScope {
 public:
  explicit StrategyScope(std::shared_ptr<StrategyImpl> strategy);
  ~StrategyScope();
  StrategyScope(const StrategyScope&) = delete;
  StrategyScope& operator=(const StrategyScope&) = delete;

 private:
  bool opened_;
  VariableOwnerScope owner_;
  std::optional<DeviceScope> device_;
};

// Until the guard is destroyed, declares that no other worker waits for what this thread runs, such
// as predictions: other workers aren't notified of its errors. Guards nest.
class [[nodiscard]] RunsAlone {
 public:
  RunsAlone();
  ~RunsAlone();
  RunsAlone(const RunsAlone&) = delete;
  RunsAlone& operator=(const RunsAlone&) = delete;

 private:
  bool previous_;
};
bool runs_alone();

// A cheap handle to a strategy (tf.distribute.Strategy).
class Strategy : public Handle<StrategyImpl> {
 public:
  explicit Strategy(std::shared_ptr<StrategyImpl> impl) : Handle(std::move(impl)) {}

  // Objects created in the scope (variables, models, compile) belong to the strategy. Models open
  // it themselves while they train, predict, are evaluated, saved and loaded. Throws
  // FailedPrecondition in the scope of another strategy, and within a step.
  StrategyScope scope() const;
  int64_t num_replicas_in_sync() const { return impl().num_replicas_in_sync(); }
  std::string name() const { return impl().name(); }
  bool is_chief() const { return impl().is_chief(); }

  // Runs a step on every replica; arguments are by replica, or the same structure for all. Within
  // another function's body, that function runs op by op, and the step in compiled form. Throws
  // RanksDiffer when workers run different steps.
  distribute::PerReplica run(const Function& step, const distribute::PerReplica& arguments) const;
  distribute::PerReplica run(const Function& step, const Tensors& arguments = {}) const;
  // Overload for a plain callable, as accepted by function(). Its body is called for each replica
  // on each call, and runs op by op; a strategy with explicit replicas (even just one) traces it
  // first, so it can't read values. For a step that runs often, create a Function once.
  template <class F, class Arguments = Tensors>
  requires(!std::is_convertible_v<F, const Function&>) distribute::PerReplica
      run(F step, const Arguments& arguments = {})
  const { return run(function(std::move(step), {.name = "step", .run_eagerly = true}), arguments); }
  // Reduces all replicas' results to one value. With an axis, also reduces over that axis of each
  // result: parts of a batch may then have different sizes, and a mean weights them by their number
  // of elements. Means of integers are float32, sums of bools int32. Throws FailedPrecondition
  // within a step, unless in a merge_call; InvalidArgument for scalars with an axis, and for
  // different shapes without one (with one, for shapes that differ along other axes). Minima and
  // maxima along an axis only cover parts that have elements; InvalidArgument if none has. If only
  // one worker's values are invalid, the others get an error of the same kind. Throws RanksDiffer
  // when workers reduce by different operations or along different axes, or one of them gathers.
  Tensor reduce(ReduceOp op, const distribute::PerReplica& values,
                std::optional<int64_t> axis = {}) const;
  // Concatenates the results of all workers' replicas along `axis`.
  Tensor gather(const distribute::PerReplica& values, int64_t axis = 0) const;
  std::vector<Tensors> local_results(const distribute::PerReplica& values) const {
    return values.values();
  }

  // Distributes a dataset of global batches, or the per-replica batches that a user-supplied
  // function creates for each worker from an InputContext, in parts by replica.
  distribute::DistributedDataset distribute_dataset(
      const std::shared_ptr<BatchSource>& dataset) const;
  template <class F>
  requires(std::is_invocable_v<F, const distribute::InputContext&>) distribute::DistributedDataset
      distribute_datasets_from_function(F make)
  const {
    return distribute_parts(static_cast<std::shared_ptr<BatchSource>>(make(input_context())));
  }
  // Creates values for each local replica by a function.
  distribute::PerReplica distribute_values_from_function(
      const std::function<Tensors(const distribute::ValueContext&)>& make) const;

  StrategyImpl& impl() const { return required("Strategy", "a strategy"); }

 private:
  bool is_merging(const char* call, const char* within_step,
                  const distribute::PerReplica& values) const;
  distribute::InputContext input_context() const;
  distribute::DistributedDataset distribute_parts(std::shared_ptr<BatchSource> dataset) const;
};

// The strategy of the innermost scope on this thread; the default strategy outside of scopes.
Strategy get_strategy();
bool has_strategy();  // whether inside a scope

// Creates a strategy with one replica on `device`.
std::shared_ptr<StrategyImpl> make_single_device_strategy(const Device& device, std::string name);

}  // namespace cornu
