// SPDX-License-Identifier: Apache-2.0
// The one trainer behind every model: loops, compiled steps, losses and metrics.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
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

// What the handles of one model share. Thread-safe but for compile and quantize: several threads
// may predict and evaluate, beside one that trains. A step (forward, loss, backward, all-reduce,
// update, metrics) is one traced function; its metrics come back as named scalars.
class Trainer {
 public:
  Trainer();
  ~Trainer();

  void compile(Model& model, const CompileOptions& options);
  bool compiled() const { return compiled_; }
  // The steps are traced anew: the model's layers are others now.
  void forget_steps();
  const Optimizer& optimizer(const Model& model) const;
  // Those of the model and of its optimizer, until they are others or this goes.
  std::weak_ptr<const TrainedVariables> trained_variables(const Model& model);
  const CompileOptions& options() const { return options_; }
  // Of Model::track_optimizer, by attribute.
  std::map<std::string, Optimizer>& tracked_optimizers() { return tracked_optimizers_; }
  // The strategy of the scope that the model was made or compiled in; null outside of scopes.
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
  // The graph of model.predict_step for inputs of these types, and what it returned (symbols of
  // that graph). In model_export.cc.
  static TracedGraph trace_predictions(Model& model, const std::vector<TensorType>& types,
                                       Tensors& outputs);

  // ---- what the default steps of Model are made of ----

  // Warns, once a compile, of a model without trainable weights, which no step changes.
  void look_for_weights(const Model& model);
  // Adds a batch's loss to the running mean, weighted by its number of examples.
  void track_loss(const Tensor& loss, const Batch& data);
  Tensor compiled_loss(Model& model, const Tensors& y, const Tensors& y_pred,
                       const Tensors& sample_weight);
  void update_metrics(Model& model, const Tensors& y, const Tensors& y_pred,
                      const Tensors& sample_weight);
  // The loss, the compiled metrics, and the losses of several outputs; none before compile.
  std::vector<Metric> metrics() const;
  // The name of a model's metric in logs.
  std::string log_name(const Metric& metric) const;

 private:
  enum class Kind { Train, Test, Predict };
  static constexpr Kind kKinds[] = {Kind::Train, Kind::Test, Kind::Predict};
  class RunningModel;
  class FitRun;

  Function make_step(Kind kind, bool eagerly = false);
  // What runs a batch, and with which arguments by local replica.
  struct StepCall {
    Function step;
    std::vector<std::vector<Tensors>> arguments;
  };
  StepCall call_of(Model& model, Kind kind, const Batch& batch);
  // Divides a batch between the local replicas, and returns what each of them gives. Metrics are
  // those of the whole batch, on all of them.
  // `waits`: for its results, rather than as StrategyImpl::begin_step.
  std::vector<Tensors> run(Model& model, Kind kind, const Batch& batch, bool waits = true);
  // Makes the variables of such a run, with the values that it would begin with.
  void prepare(Model& model, Kind kind, const Batch& batch);
  // A batch's parts, as arguments of a step by local replica.
  static std::vector<std::vector<Tensors>> divided(const Batch& batch);
  static Tensors traced_body(Model& model, Kind kind, const std::vector<Tensors>& arguments);
  // Waits for steps that were only begun. The figures then; `figures` where there are none.
  static Tensors finish_steps(const Model& model, const Tensors& figures);
  static Logs read_logs(const Tensors& figures);
  void require_compiled(const Model& model, const char* what) const;
  // For the length of a run: what it needs for itself alone.
  TrainingScope train_alone(const Model& model);
  MetricScope metric_scope(Model& model);
  static void check_options(const FitOptions& options);
  template <class Check>
  static bool begin_call(JointCall& call, const Check& check_arguments);
  void check_fit(const Model& model, const FitOptions& options) const;
  // What a call of fit gives that the other workers have been through.
  static History skip_run(const std::vector<CallbackHandle>& callbacks, const JointCall& call);
  History fit_source(Model& model, std::shared_ptr<BatchSource> source, const FitOptions& options,
                     JointCall& call);
  Logs evaluate_source(Model& model, const std::function<std::shared_ptr<BatchSource>()>& make,
                       const EvaluateOptions& options);
  Logs evaluate_together(Model& model, const std::shared_ptr<BatchSource>& source,
                         const EvaluateOptions& options, JointCall& call);
  Tensors run_steps(Model& model, Kind kind, EpochIterator& iterator, Batch& batch);
  Logs test_loop(Model& model, EpochIterator& iterator, CallbackList& callbacks);
  static OutputNames output_names(const Model& model, const Tensors& y_pred);

  bool compiled_ = false;
  bool looked_for_weights_ = false;
  CompileOptions options_;
  std::shared_ptr<StrategyImpl> made_in_;
  std::shared_ptr<StrategyImpl> strategy_;
  std::shared_ptr<const TrainedVariables> trained_variables_;  // of the last call with others
  std::unique_ptr<CompiledLoss> loss_;
  std::unique_ptr<CompiledMetrics> metrics_;
  Metric loss_tracker_;
  Function steps_[3];
  int64_t traced_version_ = 0;  // of the optimizer, in the training step
  std::map<std::string, Optimizer> tracked_optimizers_;
  ThreadOwned training_;
  ThreadOwned metric_state_;
};

}  // namespace cornu
