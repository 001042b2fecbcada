// SPDX-License-Identifier: Apache-2.0
// Strategies: how a step is run on one device or many. The interface, the scope, and the default
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

// What a strategy implements. `run` may be called from several threads at once, the rest from one
// at a time. With several workers, what they do together one thread does: FailedPrecondition for
// another one that runs such steps, or calls reduce or exchange, meanwhile.
class StrategyImpl : public VariableOwner {
 public:
  StrategyImpl();
  uint64_t number() const { return number_; }  // no other strategy of the process has it
  virtual std::string name() const = 0;
  virtual int64_t num_replicas_in_sync() const = 0;  // of all workers
  virtual std::vector<Device> devices() const = 0;   // of this process's replicas, in order
  // Where variables are made in its scope; none: where they would be without it.
  virtual std::optional<Device> variable_device() const {
    const std::vector<Device> all = devices();
    return all.empty() ? std::nullopt : std::optional(all.front());
  }
  // By default this process keeps all variables.
  std::shared_ptr<VariableHome> home_of(const Variable& variable, const Tensor& value) override {
    static_cast<void>(variable), static_cast<void>(value);
    return nullptr;
  }
  // Runs one step on every local replica at once; arguments and results by local replica. Rows of
  // the first tensor count as a replica's examples, in the order of replicas.
  virtual std::vector<Tensors> run(const Function& step,
                                   const std::vector<std::vector<Tensors>>& arguments) = 0;
  // As run, for one caller that runs step after step and reads results a step late: where steps run
  // elsewhere, this one may go on when it returns, and results are those of the last one that is
  // known to have ended; the first one is waited for. Errors are those of earlier ones, too.
  virtual std::vector<Tensors> begin_step(const Function& step,
                                          const std::vector<std::vector<Tensors>>& arguments) {
    return run(step, arguments);
  }
  // Waits for these. What the last one has given; empty: there is none since end_steps.
  virtual std::vector<Tensors> finish_steps() { return {}; }
  // As finish_steps, whatever the steps throw: the caller begins no more. Their results are gone.
  virtual void end_steps() {}
  // Makes the variables that a step makes, and gives those that it uses the values that they have
  // when it is run: worker 0's. Called by all workers, where there are several.
  virtual void prepare(const Function& step, const std::vector<std::vector<Tensors>>& arguments) {
    static_cast<void>(step), static_cast<void>(arguments);
  }
  // The batches of this process: each one is split over its local replicas by split().
  virtual std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) = 0;
  // A batch's parts by local replica; a part may have no examples.
  virtual std::vector<Batch> split(const Batch& batch) = 0;
  // One value of those that local replicas gave, over the replicas of all workers. `call`: what the
  // program has called, for workers to compare. Where there are several, some may have no values.
  virtual Tensor reduce(ReduceOp op, const std::vector<Tensor>& by_replica,
                        const std::string& call) = 0;
  // Whether this process writes checkpoints and logs.
  virtual bool is_chief() const { return true; }
  // FailedPrecondition where this process takes no part in training, but `call` begins one.
  virtual void require_training(const char* call) const { static_cast<void>(call); }
  // Whether it stands for no strategy, outside of scopes: what is made in its steps is nobody's.
  virtual bool is_default() const { return false; }

  // ---- the processes of a job: workers, each with its replicas ----
  virtual int64_t num_workers() const { return 1; }
  virtual int64_t worker() const { return 0; }
  // How many bytes of gradients are summed over the replicas together, at least, where there are so
  // many: large ones cost less a byte, small ones begin earlier.
  virtual size_t bytes_per_pack() const { return size_t{4} << 20; }
  // Whether the replicas of all workers exchange rows of sparse gradients: what graphs of CPUs do.
  virtual bool exchanges_rows() const { return false; }
  // What gradients of float32 are rounded to before they are summed over the replicas; none: they
  // are not.
  virtual std::optional<DType> gradient_dtype() const { return {}; }
  // What each worker gives, by worker. All of them must call it at the same place of their
  // programs, outside of steps: `what` says at which, and errors compare it. Errors as
  // CollectiveGroup's.
  virtual std::vector<std::string> exchange(std::string_view what, const std::string& own) {
    static_cast<void>(what);
    return {own};
  }
  // The bits that any worker had set when it began its last step, which all workers see after the
  // same one: how they decide together what one of them has noticed alone. From now on those of
  // `mask`, the caller's own, are set as in `bits`; it gets those.
  virtual uint32_t agree(uint32_t mask, uint32_t bits) { return bits & mask; }
  // After PeerLost: waits until the worker is back, and goes on with it. All workers must restore
  // what they have to one state then. Rethrows where workers can't come back.
  virtual void rejoin(const PeerLost& lost) { throw lost; }
  // The worker that this one's group has lost; none: all are there. What fails on this worker since
  // then may come of that: values that were being computed with the lost one are gone.
  virtual std::optional<PeerLost> lost_worker() { return {}; }
  // Whether a lost worker is started again, or all are ended, by what has started them.
  virtual bool restarts_workers() const { return false; }
  // This worker's program has failed: the others' calls end with an error that says so.
  virtual void fail(const std::string& why) { static_cast<void>(why); }
  // What this worker was to do has failed before it called any other one, maybe for a reason that
  // all of them have: those that wait for it get the same error, behind its name and `before`
  // ("can't run …"). Those whose own fails at the same place don't.
  virtual void tell_of_failure(const std::exception& error, const std::string& before) {
    static_cast<void>(error), static_cast<void>(before);
  }
  // What a thread does with the other workers has come to an end: another one may go on.
  virtual void pass_on() {}
  // Calls `clean_up` when no worker can need what it removes: at once, or when all have come to the
  // end of their programs. clean_up_now() calls what waits; for when all begin something new.
  virtual void when_all_are_done(std::function<void()> clean_up) { clean_up(); }
  virtual void clean_up_now() {}

 private:
  const uint64_t number_;
};

// Opens the scope of a strategy, and of the device that its variables are made on, until it ends.
// Scopes nest, on one thread. Null: the scope stays as it is.
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

// Says that no other worker waits for what this thread runs, such as predictions, until the guard
// ends: they aren't told of its errors. Guards nest.
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

// A cheap handle on a strategy (tf.distribute.Strategy).
class Strategy : public Handle<StrategyImpl> {
 public:
  explicit Strategy(std::shared_ptr<StrategyImpl> impl) : Handle(std::move(impl)) {}

  // What is made in the scope (variables, models, compile) belongs to the strategy. Models open it
  // themselves while they train, predict, are evaluated, saved and loaded. FailedPrecondition in
  // the scope of another strategy, and within a step.
  StrategyScope scope() const;
  int64_t num_replicas_in_sync() const { return impl_->num_replicas_in_sync(); }
  std::string name() const { return impl_->name(); }
  bool is_chief() const { return impl_->is_chief(); }

  // Runs a step on every replica; arguments by replica, or the same structure for all. Within
  // another function's body: that one then runs op by op, and the step as it is compiled.
  // RanksDiffer where workers run other steps.
  distribute::PerReplica run(const Function& step, const distribute::PerReplica& arguments) const;
  distribute::PerReplica run(const Function& step, const Tensors& arguments = {}) const;
  // The same of a plain callable, as function() takes it. Its body is called for each replica with
  // each call, and run op by op; a strategy that keeps replicas (also of one) traces it first, so
  // that no value can be read in it. For a step that is run often, make it a Function once.
  template <class F, class Arguments = Tensors>
  requires(!std::is_convertible_v<F, const Function&>) distribute::PerReplica
      run(F step, const Arguments& arguments = {})
  const { return run(function(std::move(step), {.name = "step", .run_eagerly = true}), arguments); }
  // One value from all replicas' results. With an axis, over that axis of each of them too: parts
  // of a batch may then have different sizes, and a mean counts their elements. Means of integers
  // are float32, sums of bools int32. FailedPrecondition within a step, unless in a merge_call;
  // InvalidArgument for scalars where there is an axis, and for different shapes where there is
  // none (with one, for those that differ along others). Minima and maxima along an axis are those
  // of the parts that have elements; InvalidArgument where none has. What is wrong of one worker's
  // values alone the others get as an error of that kind. RanksDiffer where workers reduce by other
  // operations, or along other axes, or one of them gathers.
  Tensor reduce(ReduceOp op, const distribute::PerReplica& values,
                std::optional<int64_t> axis = {}) const;
  // The results of all workers' replicas one after the other along `axis`.
  Tensor gather(const distribute::PerReplica& values, int64_t axis = 0) const;
  std::vector<Tensors> local_results(const distribute::PerReplica& values) const {
    return values.values();
  }

  // Goes over a dataset of global batches, or over what a user's function makes of an
  // InputContext (batches of one replica's size, by worker), in parts by replica.
  distribute::DistributedDataset distribute_dataset(
      const std::shared_ptr<BatchSource>& dataset) const;
  template <class F>
  requires(std::is_invocable_v<F, const distribute::InputContext&>) distribute::DistributedDataset
      distribute_datasets_from_function(F make)
  const {
    return distribute_parts(static_cast<std::shared_ptr<BatchSource>>(make(input_context())));
  }
  // Values that a function makes for each local replica.
  distribute::PerReplica distribute_values_from_function(
      const std::function<Tensors(const distribute::ValueContext&)>& make) const;

  StrategyImpl& impl() const { return *impl_; }

 private:
  bool is_merging(const char* call, const char* within_step,
                  const distribute::PerReplica& values) const;
  distribute::InputContext input_context() const;
  distribute::DistributedDataset distribute_parts(std::shared_ptr<BatchSource> dataset) const;
};

// The strategy of the innermost scope on this thread; the default one outside of scopes.
Strategy get_strategy();
bool has_strategy();  // inside a scope?

// A strategy of one replica on `device`.
std::shared_ptr<StrategyImpl> make_single_device_strategy(const Device& device, std::string name);

}  // namespace cornu
