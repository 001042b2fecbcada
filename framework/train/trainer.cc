// SPDX-License-Identifier: Apache-2.0
#include "framework/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/graph/replica.h"
#include "framework/metrics/metrics.h"
#include "framework/model/call_frame.h"
#include "framework/ops/ops.h"
#include "framework/train/array_source.h"
#include "framework/train/body.h"
#include "framework/train/fit_run.h"
#include "framework/train/joined_batches.h"
#include "framework/train/model_in_training.h"
#include "framework/train/noted_variables.h"
#include "framework/train/same_on_workers.h"
#include "framework/train/step_results.h"
#include "framework/train/string_inputs.h"
#include "framework/train/worker_parts.h"

namespace cornu {
namespace {

// `absent`: whether the argument, which can't be combined with a dataset, was omitted.
void check_arrays_only(const char* method, const char* argument, bool absent, const char* advice) {
  check<InvalidArgument>(
      absent,
      "{}: {} is only valid with arrays, since a dataset defines its own batches. Omit it, and {}.",
      method, argument, advice);
}

}  // namespace

Trainer::Trainer()
    : made_in_(has_strategy() ? get_strategy().shared() : nullptr), strategy_(made_in_) {
  forget_steps();
}
Trainer::~Trainer() = default;

void Trainer::forget_steps() {
  for (const Kind kind : kKinds) step_of(kind) = make_step(kind);
}

void Trainer::compile(Model& model, const CompileOptions& options) {
  check<InvalidArgument>(static_cast<bool>(options.optimizer),
                         "{}: compile expected an optimizer, got none.", title_of(model));
  check<InvalidArgument>(options.steps_per_execution >= 1,
                         "{}: compile expected steps_per_execution >= 1, got {}.", title_of(model),
                         options.steps_per_execution);
  const auto here = has_strategy() ? get_strategy().shared() : made_in_;
  check<FailedPrecondition>(!made_in_ || here == made_in_,
                            "{} was created in the scope of strategy '{}', but compiled in the "
                            "scope of '{}'. Create and compile a model in the same scope.",
                            title_of(model), made_in_ ? made_in_->name() : "",
                            here ? here->name() : "");
  options_ = options;
  options_.optimizer = options.optimizer.for_compile();
  // The config then contains the loss-scaling optimizer; Keras's doesn't, and loses that
  // optimizer's state.
  if (options.auto_scale_loss && model.dtype_policy().name() == "mixed_float16") {
    options_.optimizer = with_scaled_losses(options_.optimizer);
  }
  strategy_ = here;
  loss_ = std::make_unique<CompiledLoss>(options.loss, options.loss_weights);
  metrics_ = std::make_unique<CompiledMetrics>(options.metrics, options.weighted_metrics);
  loss_tracker_ = metrics::Mean({.name = "loss"});
  forget_steps();
  compiled_ = true;
  looked_for_weights_ = false;
}

void Trainer::require_compiled(const Model& model, const char* what) const {
  check<FailedPrecondition>(compiled_, "{}: it must be compiled before {}. Call compile({{…}}).",
                            title_of(model), what);
}

TrainingScope Trainer::train_alone(const Model& model) {
  return TrainingScope(training_, title_of(model));
}

MetricScope Trainer::metric_scope(Model& model) {
  return MetricScope(
      metric_state_,
      [&model](const Variable& variable) {
        const auto lock = tracing_lock();  // a trace may be making their variables
        for (const Metric& metric : model.metrics()) {
          for (const Variable& state : metric.impl().variables()) {
            if (state.id() == variable.id()) return true;
          }
        }
        return false;
      },
      [&model] { model.reset_metrics(); });
}

const Optimizer& Trainer::optimizer(const Model& model) const {
  require_compiled(model, "its optimizer is used");
  return options_.optimizer;
}

OutputNames Trainer::output_names(const Model& model, const Tensors& y_pred) {
  if (y_pred.has_names()) return {y_pred.names()};
  const FunctionalGraph* graph = model.body() ? model.body()->graph() : nullptr;
  if (graph) return {graph->output_names()};
  OutputNames names{.list = {}, .given = false};
  for (size_t i = 0; i < y_pred.size(); ++i) names.list.push_back(fmt::format("output_{}", i + 1));
  return names;
}

void Trainer::look_for_weights(const Model& model) {
  if (std::exchange(looked_for_weights_, true) || !model.trainable_variables().empty()) return;
  logging::warn(
      fmt::format("{}: the model has no trainable weights, so that training changes nothing. Was "
                  "trainable set to false for all of it?",
                  title_of(model)));
}

void Trainer::track_loss(const Tensor& loss, const Batch& data) {
  // A loss of the whole batch is weighted by each replica's share of it. Per-example losses are the
  // replica's own and have that weight individually.
  const bool by_example = loss.rank() > 0 && replicas_in_sync() > 1;
  const Tensor weight(static_cast<float>(examples_of(data)));
  loss_tracker_.impl().update_values(loss, by_example ? Tensor() : weight);
}

Tensor Trainer::compiled_loss(Model& model, const Tensors& y, const Tensors& y_pred,
                              const Tensors& sample_weight) {
  require_compiled(model, "its loss is used");
  return loss_->call(title_of(model), output_names(model, y_pred), y, y_pred, sample_weight);
}

void Trainer::update_metrics(Model& model, const Tensors& y, const Tensors& y_pred,
                             const Tensors& sample_weight) {
  const std::string who = title_of(model);
  const OutputNames outputs = output_names(model, y_pred);
  metrics_->update(who, outputs, loss_->with_targets(who, outputs, y), y_pred, sample_weight);
}

std::vector<Metric> Trainer::metrics() const {
  if (!compiled_) return {};
  const auto lock = tracing_lock();  // a trace may be creating them
  std::vector<Metric> result = {loss_tracker_};
  for (const std::vector<Metric>& part : {metrics_->metrics(), loss_->trackers()}) {
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

std::string Trainer::log_name(const Metric& metric) const {
  const std::string compiled = compiled_ ? metrics_->log_name(metric) : "";
  return compiled.empty() ? metric.name() : compiled;
}

// The model whose step is run, and traced if necessary, on this thread.
class Trainer::RunningModel {
 public:
  explicit RunningModel(Model& model) : previous_(current_) { current_ = &model; }
  ~RunningModel() { current_ = previous_; }
  RunningModel(const RunningModel&) = delete;
  RunningModel& operator=(const RunningModel&) = delete;
  static Model& current() { return *current_; }

 private:
  static thread_local Model* current_;
  Model* previous_;
};

thread_local Model* Trainer::RunningModel::current_ = nullptr;

Function Trainer::make_step(Kind kind, bool eagerly) {
  static const char* const kNames[] = {"train_step", "test_step", "predict_step"};
  return Function::structured(
      [kind](const std::vector<Tensors>& arguments) {
        return traced_body(RunningModel::current(), kind, arguments);
      },
      {.name = kNames[static_cast<size_t>(kind)],
       .run_eagerly = eagerly || options_.run_eagerly,
       .optimize = options_.jit_compile});
}

std::vector<CompileReport> Trainer::compile_reports() const {
  std::vector<CompileReport> reports;
  for (const Function& step : steps_) {
    const std::vector<CompileReport> own = step.compile_reports();
    reports.insert(reports.end(), own.begin(), own.end());
  }
  return reports;
}

// Runs while tracing.
Tensors Trainer::traced_body(Model& model, Kind kind, const std::vector<Tensors>& arguments) {
  const Batch batch{arguments[0], arguments[1], arguments[2]};
  using Phase = internal::CallFrame::Phase;
  static constexpr Phase kPhases[] = {Phase::TrainStep, Phase::TestStep, Phase::PredictStep};
  internal::CallFrame frame(model, kPhases[static_cast<size_t>(kind)]);
  if (kind == Kind::Predict) {
    Tensors outputs = model.predict_step(batch);
    frame.finish();
    return outputs;
  }
  const NamedValues<Tensor> results =
      kind == Kind::Train ? model.train_step(batch) : model.test_step(batch);
  frame.finish();
  return internal::step_results(results, title_of(model));
}

std::vector<std::vector<Tensors>> Trainer::divided(const Batch& batch) {
  std::vector<std::vector<Tensors>> arguments;
  for (Batch& part : get_strategy().impl().split(batch)) {
    std::vector<Tensors>& own = arguments.emplace_back();
    own.reserve(3);
    for (Tensors* tensors : {&part.x, &part.y, &part.sample_weight}) {
      own.push_back(std::move(*tensors));
    }
  }
  return arguments;
}

Trainer::StepCall Trainer::call_of(Model& model, Kind kind, const Batch& batch) {
  Function& step = step_of(kind);
  if (kind == Kind::Train && compiled_) {
    const int64_t version = options_.optimizer.impl().version();
    if (std::exchange(traced_version_, version) != version) step = make_step(kind);
  }
  if (!has_strings(batch.x)) return {step, divided(batch)};
  Batch prepared = batch;
  prepared.x = without_strings(model, batch.x, kind == Kind::Train);
  if (!has_strings(prepared.x)) return {step, divided(prepared)};
  require_single_replica(model, batch.x);
  return {make_step(kind, true), divided(batch)};
}

std::vector<Tensors> Trainer::run(Model& model, Kind kind, const Batch& batch, bool waits) {
  const RunningModel running(model);
  const StepCall call = call_of(model, kind, batch);
  StrategyImpl& strategy = get_strategy().impl();
  return waits ? strategy.run(call.step, call.arguments)
               : strategy.begin_step(call.step, call.arguments);
}

void Trainer::prepare(Model& model, Kind kind, const Batch& batch) {
  const RunningModel running(model);
  const StepCall call = call_of(model, kind, batch);
  get_strategy().impl().prepare(call.step, call.arguments);
}

Logs Trainer::read_logs(const Tensors& figures) {
  Logs logs;
  for (size_t i = 0; i < figures.size(); ++i) {
    const float value = figures[i].item<float>();
    logs[figures.names()[i]] = std::isnan(value) ? NAN : value;  // never "-nan"
  }
  return logs;
}

void Trainer::check_options(const FitOptions& options) {
  check<InvalidArgument>(options.epochs >= 0 && options.initial_epoch >= 0,
                         "fit: expected epochs and initial_epoch >= 0, got {} and {}.",
                         options.epochs, options.initial_epoch);
  check<InvalidArgument>(options.class_weight.empty() || options.sample_weight.empty(),
                         "fit: class_weight and sample_weight were both given. Multiply them into "
                         "sample_weight.");
}

namespace {

// An error on this worker also ends the call on the others.
template <class Body>
auto told_to_others(const Body& body) {
  try {
    return body();
  } catch (const PeerLost&) {  // the others know: a peer was lost,
    throw;
  } catch (const Aborted&) {  // has failed,
    throw;
  } catch (const Interrupted&) {  // all were asked to end,
    throw;
  } catch (const WorkersDiffer&) {  // or all find the same
    throw;
  } catch (const FailedPrecondition& error) {
    // Possibly caused by a value lost with a worker.
    if (const auto lost = get_strategy().impl().lost_worker()) throw PeerLost(*lost);
    get_strategy().impl().fail(error.what());
    throw;
  } catch (const std::exception& error) {
    get_strategy().impl().fail(error.what());
    throw;
  }
}

}  // namespace

// Problems with this worker's arguments are reported to the others, which would wait for it.
template <class Check>
bool Trainer::begin_call(JointCall& call, const Check& check_arguments) {
  std::exception_ptr wrong;
  std::string error;
  try {
    check_arguments();
  } catch (const std::exception& found) {
    wrong = std::current_exception();
    error = found.what();
  }
  const bool is_joined = call.begin(error);
  if (wrong) std::rethrow_exception(wrong);
  return is_joined;
}

History Trainer::fit(Model& model, const Tensors& x, const Tensors& y, const FitOptions& options) {
  JointCall call("fit", model, keeps_state(options));
  FitOptions for_source = options;
  Tensors train_x = x;
  Tensors train_y = y;
  Tensors weight = options.sample_weight;
  ArraySourceOptions arrays{.batch_size = options.batch_size, .steps = options.steps_per_epoch};
  const bool is_joined = begin_call(call, [&] {
    check_options(options);
    if (options.validation_split != 0 && options.validation_data.empty()) {
      SplitArrays split = split_arrays(x, y, weight, options.validation_split);
      train_x = split.x;
      train_y = split.y;
      weight = split.sample_weight;
      for_source.validation_data =
          ValidationData(split.validation_x, split.validation_y, split.validation_sample_weight);
    }
    make_array_source(train_x, train_y, weight, arrays);  // checks them; the seed comes later
    for_source.batch_size.reset();
    if (!options.validation_batch_size) for_source.validation_batch_size = options.batch_size;
    for_source.sample_weight = Tensors();
    for_source.validation_split = 0;
    check_fit(model, for_source);
  });
  if (!is_joined) return skip_run(options.callbacks, call);
  if (options.shuffle) arrays.shuffle_seed = next_seed();  // identical on all workers by now
  return fit_source(model, make_array_source(train_x, train_y, weight, arrays), for_source, call);
}

History Trainer::fit(Model& model, std::shared_ptr<BatchSource> source, const FitOptions& options) {
  JointCall call("fit", model, keeps_state(options));
  const bool is_joined = begin_call(call, [&] { check_fit(model, options); });
  if (!is_joined) return skip_run(options.callbacks, call);
  if (const auto shuffled = options.shuffle ? source->shuffled() : nullptr) source = shuffled;
  return fit_source(model, std::move(source), options, call);
}

History Trainer::skip_run(const std::vector<CallbackHandle>& callbacks, const JointCall& call) {
  for (const CallbackHandle& callback : callbacks) callback->skip_run();
  return history_from_json(call.figures());
}

void Trainer::check_fit(const Model& model, const FitOptions& options) const {
  require_compiled(model, "fit");
  get_strategy().impl().require_training("fit");
  check_options(options);
  check_arrays_only("fit", "batch_size", !options.batch_size,
                    "call batch() on the dataset instead");
  check_arrays_only("fit", "sample_weight", options.sample_weight.empty(),
                    "let the dataset give (x, y, sample_weight)");
  check_arrays_only("fit", "validation_split", options.validation_split == 0,
                    "split the dataset with take() and skip(), and give validation_data");
}

History Trainer::fit_source(Model& model, std::shared_ptr<BatchSource> source,
                            const FitOptions& options, JointCall& call) {
  return told_to_others([&] {
    FitRun run(*this, model, std::move(source), options, call);
    const TrainingScope alone = train_alone(model);
    const MetricScope metrics = metric_scope(model);
    History history = run.run();
    if (call.is_numbered()) call.finish(history_to_json(history), trained_variables(model));
    return history;
  });
}

std::weak_ptr<const TrainedVariables> Trainer::trained_variables(const Model& model) {
  TrainedVariables now{.model = model.variables(), .optimizer = optimizer(model).variables()};
  if (!trained_variables_ || *trained_variables_ != now) {
    trained_variables_ = std::make_shared<const TrainedVariables>(std::move(now));
  }
  return trained_variables_;
}

// One execution: the given batch and the following ones, steps_per_execution in total.
Tensors Trainer::run_steps(Model& model, Kind kind, EpochIterator& iterator, Batch& batch) {
  const bool waits = kind != Kind::Train;
  Tensors figures = run(model, kind, batch, waits).front();
  for (int64_t i = 1; i < options_.steps_per_execution && iterator.next(batch); ++i) {
    figures = run(model, kind, batch, waits).front();
  }
  return figures;
}

std::set<std::string> Trainer::names_of_updated(const Model& model) const {
  std::set<const void*> written;
  const Function& step = step_of(Kind::Train);
  for (const Variable& variable : step.written_variables()) written.insert(variable.id());
  std::set<std::string> names;
  const auto lock = tracing_lock();  // a trace may be making their variables
  for (const Metric& metric : model.metrics()) {
    for (const Variable& variable : metric.impl().variables()) {
      if (written.contains(variable.id())) names.insert(log_name(metric));
    }
  }
  return names;
}

// The last step to finish may not have seen what all steps have added to the metrics.
Tensors Trainer::finish_steps(const Model& model, const Tensors& figures) const {
  const std::vector<Tensors> last = get_strategy().impl().finish_steps();
  if (last.empty()) return figures;
  const NamedValues<Tensor> results = model.get_metrics_result();
  const std::set<std::string> updated = names_of_updated(model);
  std::vector<Tensor> values = last.front().list();
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = last.front().names()[i];
    if (const Tensor* value = results.find(name); value && updated.contains(name)) {
      values[i] = *value;
    }
  }
  return last.front().with(std::move(values));
}

Logs Trainer::test_loop(Model& model, EpochIterator& iterator, CallbackList& callbacks,
                        const std::function<void(const Batch&)>& before_first) {
  model.stop_evaluating = false;
  callbacks.on_test_begin();
  model.reset_metrics();
  const bool reads = callbacks.wants_batches();
  // Callbacks count as if every execution were complete (as in Keras).
  const int64_t further = options_.steps_per_execution - 1;
  Tensors figures;
  Batch batch;
  while (iterator.next(batch)) {
    const int64_t first = iterator.done() - 1;
    if (first == 0) before_first(batch);
    if (reads) callbacks.on_test_batch_begin(first);
    figures = run_steps(model, Kind::Test, iterator, batch);
    if (reads) callbacks.on_test_batch_end(first + further, read_logs(figures));
    if (!model.stop_evaluating) continue;
    check<Unimplemented>(get_strategy().impl().num_workers() == 1,
                         "{}: stop_evaluating was set, but the other workers continue, since all "
                         "workers share each step. Pass a number of steps to evaluate instead.",
                         title_of(model));
    break;
  }
  check<InvalidArgument>(!figures.empty(),
                         "{}: evaluate got no batches: the dataset is empty. Check its source, and "
                         "the number of steps.",
                         title_of(model));
  const Logs logs = read_logs(figures);
  callbacks.on_test_end(logs);
  return logs;
}

Logs Trainer::evaluate(Model& model, const Tensors& x, const Tensors& y,
                       const EvaluateOptions& options) {
  EvaluateOptions for_source = options;
  for_source.batch_size.reset();
  for_source.sample_weight = Tensors();
  return evaluate_source(
      model,
      [&] {
        return make_array_source(x, y, options.sample_weight,
                                 {.batch_size = options.batch_size, .steps = options.steps});
      },
      for_source);
}

Logs Trainer::evaluate(Model& model, std::shared_ptr<BatchSource> source,
                       const EvaluateOptions& options) {
  return evaluate_source(
      model, [&] { return source; }, options);
}

// Beside the metrics, which are reset, an evaluation changes the passes over its data, and
// variables that the test step writes.
struct Trainer::EvaluationStart {
  std::optional<std::vector<uint64_t>> order;
  std::optional<Json> place;  // where each worker has its own order
  std::optional<NotedVariables> variables;
};

// If a worker is lost, the evaluation is made again together with it, as it began.
Logs Trainer::evaluate_source(Model& model,
                              const std::function<std::shared_ptr<BatchSource>()>& make,
                              const EvaluateOptions& options) {
  JointCall call("evaluate", model);
  std::shared_ptr<BatchSource> source;
  bool is_joined = begin_call(call, [&] {
    require_compiled(model, "evaluate");
    check_arrays_only("evaluate", "batch_size", !options.batch_size,
                      "call batch() on the dataset instead");
    check_arrays_only("evaluate", "sample_weight", options.sample_weight.empty(),
                      "let the dataset give (x, y, sample_weight)");
    source = make();
  });
  EvaluationStart start;
  while (is_joined) {
    try {
      return told_to_others([&] { return evaluate_together(model, source, options, call, start); });
    } catch (const PeerLost& lost) {
      is_joined = call.rejoin(lost);
    }
  }
  return logs_from_json(call.figures());
}

// All workers have joined the call.
Logs Trainer::evaluate_together(Model& model, const std::shared_ptr<BatchSource>& source,
                                const EvaluateOptions& options, JointCall& call,
                                EvaluationStart& start) {
  StrategyImpl& strategy = get_strategy().impl();
  const std::shared_ptr<BatchSource> own = strategy.distribute(source);
  if (start.order) own->set_order_keys(*start.order);
  if (start.variables) start.variables->put_back();
  start.order = own->order_keys();
  distribute::agree_on_order(strategy, *own);
  EpochIterator iterator(own, options.steps);
  iterator.check_finite("evaluate", "steps");
  if (strategy.num_workers() > 1) {
    Json facts =
        Json::object({{"number of steps", iterator.steps() ? Json(*iterator.steps()) : Json()}});
    add_facts(facts, "", facts_of_model(model, false));
    add_facts(facts, "", source->facts());
    require_same_on_workers("evaluate", facts);
    iterator.open();
    if (start.order->empty() && start.place) iterator.restore(*start.place);
    start.place = iterator.save();
  }
  CallbackList callbacks(
      options.callbacks, in_training(model),
      {.verbose = options.verbose.resolve(), .epochs = 1, .steps = iterator.steps()});
  iterator.begin_epoch();
  const MetricScope metrics = metric_scope(model);
  const Logs logs = test_loop(model, iterator, callbacks, [&](const Batch& first) {
    if (strategy.num_workers() == 1) return;
    prepare(model, Kind::Test, first);
    if (start.variables) return;
    start.variables.emplace(step_of(Kind::Test).written_variables());
  });
  call.finish(logs_to_json(logs));
  return logs;
}

Tensors Trainer::predict(Model& model, const Tensors& x, const PredictOptions& options) {
  PredictOptions for_source = options;
  for_source.batch_size.reset();
  const ArraySourceOptions arrays{.batch_size = options.batch_size, .steps = options.steps};
  return predict(model, make_array_source(x, {}, {}, arrays), for_source);
}

Tensors Trainer::predict(Model& model, std::shared_ptr<BatchSource> source,
                         const PredictOptions& options) {
  check_arrays_only("predict", "batch_size", !options.batch_size,
                    "call batch() on the dataset instead");
  // Every worker of a job predicts everything: the data isn't divided.
  EpochIterator iterator(std::move(source), options.steps);
  iterator.ignore_labels();
  iterator.check_finite("predict", "steps");
  CallbackList callbacks(
      options.callbacks, in_training(model),
      {.verbose = options.verbose.resolve(), .epochs = 1, .steps = iterator.steps()});
  model.stop_predicting = false;
  callbacks.on_predict_begin();
  iterator.begin_epoch();
  Tensors last;
  JoinedBatches batches(title_of(model), [&] { return output_names(model, last).list; });
  Batch batch;
  while (iterator.next(batch)) {
    callbacks.on_predict_batch_begin(iterator.done() - 1);
    batch.y = Tensors();
    batch.sample_weight = Tensors();
    last = predict_on_batch(model, batch.x);
    batches.add(last);
    callbacks.on_predict_batch_end(iterator.done() - 1);
    if (model.stop_predicting) break;
  }
  callbacks.on_predict_end();
  check<InvalidArgument>(!batches.empty(),
                         "{}: predict got no batches: the dataset is empty. Check its source, and "
                         "the number of steps.",
                         title_of(model));
  return batches.join();
}

}  // namespace cornu
