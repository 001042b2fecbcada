// SPDX-License-Identifier: Apache-2.0
// The trainer shared by all kinds of models: loops, compiled steps, losses and metrics.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/strategy/strategy.h"
#include "framework/train/compiled_loss.h"
#include "framework/train/epoch_iterator.h"
#include "framework/train/model.h"
#include "framework/train/run_scopes.h"

namespace cornu {

class JointCall;
struct TrainedVariables;
struct TracedGraph;

// Training state shared by the handles to one model. Thread-safe except for compile and quantize:
// several threads may predict and evaluate while another one trains. A step (forward, loss,
// backward, all-reduce, update, metrics) is a single traced function; its metrics are returned as
// named scalars.
class Trainer {
 public:
  Trainer();
  ~Trainer();

  void compile(Model& model, const CompileOptions& options);
  bool compiled() const { return compiled_; }
  // Discards traced steps, because the model's layers have changed.
  void forget_steps();
  const Optimizer& optimizer(const Model& model) const;
  // The variables of the model and its optimizer; expires when they change or this trainer is
  // destroyed.
  std::weak_ptr<const TrainedVariables> trained_variables(const Model& model);
  const CompileOptions& options() const { return options_; }
  // The optimizers of Model::track_optimizer, by attribute.
  std::map<std::string, Optimizer>& tracked_optimizers() { return tracked_optimizers_; }
  // The strategy in whose scope the model was created or compiled; null outside of scopes.
  const std::shared_ptr<StrategyImpl>& strategy() const { return strategy_; }

  History fit(Model& model, const Tensors& x, const Tensors& y, const FitOptions& options);
  History fit(Model& model, std::shared_ptr<BatchSource> source, const FitOptions& options);
  Logs evaluate(Model& model, const Tensors& x, const Tensors& y, const EvaluateOptions& options);
  Logs evaluate(Model& model, std::shared_ptr<BatchSource> source, const EvaluateOptions& options);
  Tensors predict(Model& model, const Tensors& x, const PredictOptions& options);
  Tensors predict(Model& model, std::shared_ptr<BatchSource> source, const PredictOptions& options);
  Logs train_on_batch(Model& model, const Tensors& x, const Tensors& y,
                      const TrainOnBatchOptions& options);
  Logs test_on_batch(Model& model, const Tensors& x, const Tensors& y,
                     const TestOnBatchOptions& options);
  Tensors predict_on_batch(Model& model, const Tensors& x);

  std::vector<CompileReport> compile_reports() const;  // see Model
  // Traces model.predict_step for inputs of these types. Returns the graph and, in `outputs`, the
  // results (symbols of that graph). In model_export.cc.
  static TracedGraph trace_predictions(Model& model, const std::vector<TensorType>& types,
                                       Tensors& outputs);

  // ---- building blocks of Model's default steps ----

  // Warns, once per compile, about a model without trainable weights, which training can't change.
  void look_for_weights(const Model& model);
  // Adds a batch's loss to the running mean, weighted by the number of examples.
  void track_loss(const Tensor& loss, const Batch& data);
  Tensor compiled_loss(Model& model, const Tensors& y, const Tensors& y_pred,
                       const Tensors& sample_weight);
  void update_metrics(Model& model, const Tensors& y, const Tensors& y_pred,
                      const Tensors& sample_weight);
  // The loss, the compiled metrics, and the losses of several outputs; empty before compile.
  std::vector<Metric> metrics() const;
  // A metric's name in logs.
  std::string log_name(const Metric& metric) const;

 private:
  enum class Kind { Train, Test, Predict };
  static constexpr Kind kKinds[] = {Kind::Train, Kind::Test, Kind::Predict};
  class RunningModel;
  class FitRun;

  Function make_step(Kind kind, bool eagerly = false);
  Function& step_of(Kind kind) { return steps_[static_cast<size_t>(kind)]; }
  const Function& step_of(Kind kind) const { return steps_[static_cast<size_t>(kind)]; }
  // The function that processes a batch, and its arguments for each local replica.
  struct StepCall {
    Function step;
    std::vector<std::vector<Tensors>> arguments;
  };
  StepCall call_of(Model& model, Kind kind, const Batch& batch);
  // Splits a batch among the local replicas, and returns the results of each. Metrics are for the
  // whole batch, on all replicas. `waits`: whether to wait for the results, instead of using
  // StrategyImpl::begin_step.
  std::vector<Tensors> run(Model& model, Kind kind, const Batch& batch, bool waits = true);
  // Creates the variables that such a run needs, with their initial values.
  void prepare(Model& model, Kind kind, const Batch& batch);
  // Splits a batch into arguments of a step, by local replica.
  static std::vector<std::vector<Tensors>> divided(const Batch& batch);
  static Tensors traced_body(Model& model, Kind kind, const std::vector<Tensors>& arguments);
  // Waits for steps that were only begun and returns the final figures; `figures` if there are
  // none.
  Tensors finish_steps(const Model& model, const Tensors& figures) const;
  // The names in the logs of the metrics that a training step updates.
  std::set<std::string> names_of_updated(const Model& model) const;
  static Logs read_logs(const Tensors& figures);
  void require_compiled(const Model& model, const char* what) const;
  // Guards held during a run for what it must have to itself.
  TrainingScope train_alone(const Model& model);
  MetricScope metric_scope(Model& model);
  static void check_options(const FitOptions& options);
  template <class Check>
  static bool begin_call(JointCall& call, const Check& check_arguments);
  void check_fit(const Model& model, const FitOptions& options) const;
  // Returns the result of a call of fit that the other workers have already finished.
  static History skip_run(const std::vector<CallbackHandle>& callbacks, const JointCall& call);
  History fit_source(Model& model, std::shared_ptr<BatchSource> source, const FitOptions& options,
                     JointCall& call);
  Logs evaluate_source(Model& model, const std::function<std::shared_ptr<BatchSource>()>& make,
                       const EvaluateOptions& options);
  // How an evaluation began, with several workers: it is made again if one is lost.
  struct EvaluationStart;
  Logs evaluate_together(Model& model, const std::shared_ptr<BatchSource>& source,
                         const EvaluateOptions& options, JointCall& call, EvaluationStart& start);
  Tensors run_steps(Model& model, Kind kind, EpochIterator& iterator, Batch& batch);
  // `before_first`: called with the first batch.
  Logs test_loop(Model& model, EpochIterator& iterator, CallbackList& callbacks,
                 const std::function<void(const Batch&)>& before_first);
  static OutputNames output_names(const Model& model, const Tensors& y_pred);

  bool compiled_ = false;
  bool looked_for_weights_ = false;
  CompileOptions options_;
  std::shared_ptr<StrategyImpl> made_in_;
  std::shared_ptr<StrategyImpl> strategy_;
  std::shared_ptr<const TrainedVariables> trained_variables_;  // of the last joint call
  std::unique_ptr<CompiledLoss> loss_;
  std::unique_ptr<CompiledMetrics> metrics_;
  Metric loss_tracker_;
  Function steps_[std::size(kKinds)];  // by Kind
  int64_t traced_version_ = 0;         // the optimizer's version in the training step
  std::map<std::string, Optimizer> tracked_optimizers_;
  ThreadOwned training_;
  ThreadOwned metric_state_;
};

}  // namespace cornu
