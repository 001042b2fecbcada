// SPDX-License-Identifier: Apache-2.0
#include "framework/train/model.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <typeinfo>
#include <utility>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/compute_team.h"
#include "framework/core/strings.h"
#include "framework/graph/trace.h"
#include "framework/model/call_frame.h"
#include "framework/ops/ops.h"
#include "framework/strategy/replica_context.h"
#include "framework/train/body.h"
#include "framework/train/compiled_loss.h"
#include "framework/train/console/summary.h"
#include "framework/train/trainer.h"

namespace cornu {
namespace {

LayerOptions layer_options(const ModelOptions& options) {
  return {.name = options.name, .dtype = options.dtype, .trainable = options.trainable};
}

// Runs `body` in the scope of the model's strategy; errors name the model, unless they already name
// a part of it.
template <class F>
auto placed(const Model& model, const F& body) {
  const StrategyScope scope(model.trainer().strategy());
  try {
    return body();
  } catch (Error& error) {
    error.add_place(title_of(model));
    throw;
  }
}

// As above, for fit: after a longer training, the compute team is released for other threads.
template <class F>
History trained(const Model& model, const F& body) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kWhile(100);
  const auto begin = Clock::now();
  History history = placed(model, body);
  if (Clock::now() - begin >= kWhile) release_compute_team();
  return history;
}

void add_tracked(const Layer& layer, std::vector<Metric>& metrics) {
  for (const auto& tracked : layer.tracked_metrics()) {
    const bool known = std::any_of(metrics.begin(), metrics.end(), [&](const Metric& metric) {
      return metric.shared() == tracked;
    });
    if (!known) metrics.emplace_back(tracked);
  }
}

// Adds the metrics tracked by layers within. A nested model isn't trained by itself: its own
// metrics don't count, but those of its layers do (Keras's rule).
void add_metrics_below(const Layer& layer, std::set<const Layer*>& seen,
                       std::vector<Metric>& metrics) {
  for (const auto& [key, below] : layer.sublayers()) {
    if (!seen.insert(below.get()).second) continue;
    if (!dynamic_cast<const Model*>(below.get())) add_tracked(*below, metrics);
    add_metrics_below(*below, seen, metrics);
  }
}

}  // namespace

Model::Model() : Model(ModelOptions{}) {}

Model::Model(const ModelOptions& options)
    : Layer(layer_options(options)), trainer_(std::make_shared<Trainer>()) {}

Model::Model(std::shared_ptr<ModelBody> body, const ModelOptions& options)
    : Layer(layer_options(options)), body_(std::move(body)), trainer_(std::make_shared<Trainer>()) {
  if (options.name.empty()) {
    const bool functional = body_->class_name() == "Functional";
    set_name(unique_name(functional ? "functional" : to_snake_case(body_->class_name())));
  }
}

Model::Model(const Tensors& inputs, const Tensors& outputs, const ModelOptions& options)
    : Model(std::make_shared<FunctionalBody>(inputs, outputs), options) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  set_built(true, std::move(shapes));
}

Model::Model(const Model& other)
    : Layer(other, Share{}),
      stop_training(other.stop_training),
      stop_evaluating(other.stop_evaluating),
      stop_predicting(other.stop_predicting),
      body_(other.body_),
      trainer_(other.trainer_),
      object_(other.object_) {
  if (other.is_handle()) return;
  object_ = std::dynamic_pointer_cast<Model>(const_cast<Model&>(other).Layer::shared_self());
  check<FailedPrecondition>(object_ != nullptr,
                            "Model '{}': an object of a class derived from Model can't be copied. "
                            "Make a shared one with make_layer<T>(…).",
                            other.name());
}

Model& Model::operator=(const Model& other) {
  if (this == &other) return *this;
  check<FailedPrecondition>(is_handle(),
                            "{} '{}': an object of a class derived from Model can't be assigned. "
                            "Assign to a Model, or to the LayerRef of make_layer<{}>(…).",
                            class_name(), name(), class_name());
  const Model handle(other);
  share(handle);
  stop_training.share(handle.stop_training);
  stop_evaluating.share(handle.stop_evaluating);
  stop_predicting.share(handle.stop_predicting);
  body_ = handle.body_;
  trainer_ = handle.trainer_;
  object_ = handle.object_;
  return *this;
}

Model::~Model() = default;

bool Model::is_handle() const {
  return typeid(*this) == typeid(Model) || typeid(*this) == typeid(Sequential);
}

// The model whose steps fit runs.
Model& Model::subject() const {
  if (!object_) return const_cast<Model&>(*this);
  check<FailedPrecondition>(is_handle(),
                            "Model '{}': this is a copy of an object of a class derived from "
                            "Model. Use the one that make_layer<T>(…) made.",
                            name());
  return *object_;
}

std::shared_ptr<Layer> Model::shared_self() {
  if (object_) return object_;
  if (!body_ || !is_handle()) return Layer::shared_self();
  auto handle = body_->shared_handle.lock();
  if (!handle) {
    handle = Layer::shared_self();
    if (!handle) handle = std::make_shared<Model>(*this);
    body_->shared_handle = handle;
  }
  return handle;
}

Model::operator LayerHandle() const {
  const auto self = const_cast<Model*>(this)->shared_self();
  check<FailedPrecondition>(self != nullptr,
                            "Model '{}': an object of a class derived from Model can't be shared. "
                            "Make a shared one with make_layer<T>(…).",
                            name());
  return LayerHandle(self);
}

std::string Model::class_name() const {
  if (object_) return object_->class_name();
  return body_ && is_handle() ? body_->class_name() : Layer::class_name();
}

Json Model::module() const {
  if (object_) return object_->module();
  if (!body_ || !is_handle()) return nullptr;
  return body_->class_name() == "Functional" ? "keras.src.models.functional" : "keras";
}

Json Model::get_config() const {
  if (object_) return object_->get_config();
  return body_ ? body_->get_config(*this) : Layer::get_config();
}

bool Model::autocast() const {
  if (object_) return object_->autocast();
  // A functional model's inputs keep the dtypes of its Inputs (Keras: _convert_input_args).
  return !body_ || body_->class_name() != "Functional";
}
bool Model::autocasts_variables() const {
  return object_ ? object_->autocasts_variables() : Layer::autocasts_variables();
}
bool Model::supports_masking() const {
  return object_ ? object_->supports_masking() : Layer::supports_masking();
}
const CallSignature& Model::call_signature() const {
  return object_ ? object_->call_signature() : Layer::call_signature();
}
Tensor Model::compute_mask(const Tensors& inputs, const Tensor& mask) const {
  return object_ ? object_->compute_mask(inputs, mask) : Layer::compute_mask(inputs, mask);
}

void Model::build(const Shape& input_shape) {
  if (building()) return;
  Model& model = subject();
  if (model.body_) model.body_->check_build(input_shape, model.name());
  model.ensure_built({input_shape});
  if (!model.body_) model.compute_output_types({{compute_dtype(), input_shape}});
}

void Model::build_list(const std::vector<Shape>& input_shapes) {
  if (object_) return object_->build_list(input_shapes);
  if (body_) {
    body_->build(input_shapes, built_names());
  } else if (input_shapes.size() == 1) {
    build(input_shapes[0]);
  }
}

Tensor Model::call(const Tensor& x, const CallArgs& args) {
  if (object_) return object_->call(x, args);
  return body_ ? Model::call_list(x, args).single() : Layer::call(x, args);
}

Tensors Model::call_list(const Tensors& inputs, const CallArgs& args) {
  if (object_) return object_->call_list(inputs, args);
  if (!body_) return Layer::call_list(inputs, args);
  const internal::CallFrame nobody;  // its layers already have an owner
  return body_->call(inputs);
}

void Model::enable_lora(const LoraOptions& options) {
  return object_ ? object_->enable_lora(options) : Layer::enable_lora(options);
}

Layer::NamedLayers Model::sublayers() const {
  if (object_) return object_->sublayers();
  if (!body_) return Layer::sublayers();
  NamedLayers result;
  for (const auto& layer : body_->layers()) result.emplace_back(layer->name(), layer);
  for (const auto& child : tracked()) {
    const bool known = std::any_of(result.begin(), result.end(),
                                   [&](const auto& entry) { return entry.second == child.second; });
    if (!known) result.push_back(child);
  }
  return result;
}

const FunctionalGraph& Model::graph(const char* what) const {
  const FunctionalGraph* graph = body_ ? body_->graph() : nullptr;
  check<FailedPrecondition>(graph != nullptr,
                            "{} '{}' has no {}: only functional models do, and Sequential models "
                            "with a known input. Start the model with an Input.",
                            class_name(), name(), what);
  return *graph;
}

Tensors Model::inputs() const { return graph("inputs").inputs(); }
Tensors Model::outputs() const { return graph("outputs").outputs(); }
Shape Model::input_shape() const { return graph("input_shape").inputs().single().shape(); }
Shape Model::output_shape() const { return graph("output_shape").outputs().single().shape(); }

std::optional<std::vector<std::shared_ptr<Layer>>> Model::saved_list() const {
  if (object_) return object_->saved_list();
  std::vector<std::shared_ptr<Layer>> result;
  for (const auto& [key, layer] : sublayers()) result.push_back(layer);
  return result;
}

std::vector<LayerHandle> Model::layers() const {
  std::vector<LayerHandle> result = operations();
  std::erase_if(result, [](const LayerHandle& layer) { return is_operation(layer.get()); });
  return result;
}

std::vector<LayerHandle> Model::operations() const {
  std::vector<LayerHandle> result;
  for (const auto& [key, layer] : sublayers()) result.emplace_back(layer);
  return result;
}

LayerHandle Model::get_layer(const std::string& layer_name) const {
  const NamedLayers all = sublayers();
  for (const auto& [key, layer] : all) {
    if (layer->name() == layer_name) return layer;
  }
  std::vector<std::string> known;
  for (const auto& [key, layer] : all) known.push_back(layer->name());
  raise<NotFound>("{} '{}' has no layer named '{}'.{}", class_name(), name(), layer_name,
                  did_you_mean(layer_name, known));
}

Optimizer Model::track_optimizer(const std::string& attribute, const Optimizer& optimizer) {
  check<InvalidArgument>(
      !attribute.empty() && attribute != "optimizer" && attribute.find('/') == std::string::npos,
      "{}: track_optimizer expected the name of an attribute other than \"optimizer\", which is "
      "compile's, without '/', got '{}'.",
      title_of(*this), attribute);
  check<InvalidArgument>(static_cast<bool>(optimizer),
                         "{}: track_optimizer expected an optimizer as '{}', got none.",
                         title_of(*this), attribute);
  trainer_->tracked_optimizers().insert_or_assign(attribute, optimizer);
  return optimizer;
}

void Model::require_built(const char* what) const {
  // A custom step may call only some parts of a model.
  const NamedLayers parts = body_ ? NamedLayers() : sublayers();
  const bool made = !parts.empty() && std::all_of(parts.begin(), parts.end(), [](const auto& part) {
    return part.second->built();
  });
  check<FailedPrecondition>(built() || made,
                            "{} '{}': {} needs its weights, which don't exist yet. Call the model, "
                            "fit it, or give it an Input first.",
                            class_name(), name(), what);
}

void Model::summary(const SummaryOptions& options) { print_summary(*this, options); }

void Model::compile(const CompileOptions& options) { trainer_->compile(subject(), options); }
bool Model::compiled() const { return trainer_->compiled(); }
std::vector<CompileReport> Model::compile_reports() const { return trainer_->compile_reports(); }
const Optimizer& Model::optimizer() const { return trainer_->optimizer(*this); }

std::vector<Metric> Model::metrics() const {
  if (object_) return object_->metrics();
  std::vector<Metric> result = trainer_->metrics();
  std::set<const Layer*> seen = {this};
  add_tracked(*this, result);
  add_metrics_below(*this, seen, result);
  return result;
}

void Model::reset_metrics() {
  if (object_) return object_->reset_metrics();
  const auto lock = tracing_lock();  // a trace may be making their variables
  for (const Metric& metric : metrics()) metric.reset_state();
}

NamedValues<Tensor> Model::get_metrics_result() const {
  NamedValues<Tensor> results;
  const std::vector<Metric> all = metrics();
  const GlobalMetricState global(all);
  for (const Metric& metric : all) results.set(trainer_->log_name(metric), metric.impl().result());
  return results;
}

namespace {
const std::shared_ptr<BatchSource>& given(const std::shared_ptr<BatchSource>& source,
                                          const Model& model) {
  check<InvalidArgument>(source != nullptr, "{}: expected batches, got a null pointer.",
                         title_of(model));
  return source;
}
}  // namespace

History Model::fit(const Tensors& x, const Tensors& y, const FitOptions& options) {
  return trained(*this, [&] { return trainer_->fit(subject(), x, y, options); });
}
History Model::fit(const std::shared_ptr<BatchSource>& source, const FitOptions& options) {
  return trained(*this, [&] { return trainer_->fit(subject(), given(source, *this), options); });
}
Logs Model::evaluate(const Tensors& x, const Tensors& y, const EvaluateOptions& options) {
  return placed(*this, [&] { return trainer_->evaluate(subject(), x, y, options); });
}
Logs Model::evaluate(const std::shared_ptr<BatchSource>& source, const EvaluateOptions& options) {
  return placed(*this,
                [&] { return trainer_->evaluate(subject(), given(source, *this), options); });
}
Tensors Model::predict(const Tensors& x, const PredictOptions& options) {
  return placed(*this, [&] { return trainer_->predict(subject(), x, options); });
}
Tensors Model::predict(const std::shared_ptr<BatchSource>& source, const PredictOptions& options) {
  return placed(*this, [&] { return trainer_->predict(subject(), given(source, *this), options); });
}
Logs Model::train_on_batch(const Tensors& x, const Tensors& y, const TrainOnBatchOptions& options) {
  return placed(*this, [&] { return trainer_->train_on_batch(subject(), x, y, options); });
}
Logs Model::test_on_batch(const Tensors& x, const Tensors& y, const TestOnBatchOptions& options) {
  return placed(*this, [&] { return trainer_->test_on_batch(subject(), x, y, options); });
}
Tensors Model::predict_on_batch(const Tensors& x) {
  return placed(*this, [&] { return trainer_->predict_on_batch(subject(), x); });
}

Profile Model::profile(const Tensors& x, const Tensors& y, const ProfileOptions& options) {
  return placed(*this, [&] { return profile_step(subject(), x, y, options); });
}
Profile Model::profile(const Tensors& x, const ProfileOptions& options) {
  return profile(x, Tensors(), options);
}

namespace {

// While alive, a model's compute_loss returns this replica's part of the loss, as loss objects do:
// anything an override adds to it is a part, too.
class LossOfParts {
 public:
  explicit LossOfParts(const Model& model) : outer_(std::exchange(current, &model)) {}
  ~LossOfParts() { current = outer_; }
  LossOfParts(const LossOfParts&) = delete;
  LossOfParts& operator=(const LossOfParts&) = delete;
  static bool asked_of(const Model& model) { return current == &model; }

 private:
  static thread_local const Model* current;
  const Model* outer_;
};
thread_local const Model* LossOfParts::current = nullptr;

// The whole loss from a replica's part; per-example losses are the replica's own.
Tensor whole_loss(const Tensor& part) { return part.rank() == 0 ? sum_of_parts(part) : part; }

Tensor loss_of_step(Model& model, const Batch& data, const Tensors& y_pred) {
  const LossOfParts parts(model);
  return whole_loss(model.compute_loss(data.x, data.y, y_pred, data.sample_weight));
}

}  // namespace

NamedValues<Tensor> Model::train_step(const Batch& data) {
  if (object_) return object_->train_step(data);
  std::vector<Tensor> gradients;
  Tensors y_pred;
  Tensor loss;
  {
    GradientTape tape;
    y_pred = (*this)(data.x, {.training = true});
    loss = loss_of_step(*this, data, y_pred);
    // Subclassed models' layers may have been built only by the call above.
    gradients = tape.gradient(optimizer().impl().scale_loss(loss), trainable_variables());
  }
  trainer_->look_for_weights(*this);
  optimizer().apply_gradients(gradients, trainable_variables());
  trainer_->track_loss(loss, data);
  return compute_metrics(data.x, data.y, y_pred, data.sample_weight);
}

NamedValues<Tensor> Model::test_step(const Batch& data) {
  if (object_) return object_->test_step(data);
  const Tensors y_pred = (*this)(data.x, {.training = false});
  trainer_->track_loss(loss_of_step(*this, data, y_pred), data);
  return compute_metrics(data.x, data.y, y_pred, data.sample_weight);
}

Tensors Model::predict_step(const Batch& data) {
  if (object_) return object_->predict_step(data);
  return (*this)(data.x, {.training = false});
}

Tensor Model::compute_loss(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                           const Tensors& sample_weight) {
  if (object_) return object_->compute_loss(x, y, y_pred, sample_weight);
  Tensor total = trainer_->compiled_loss(*this, y, y_pred, sample_weight);
  for (const Tensor& loss : losses()) {
    const Tensor part = by_share_of_examples(loss);  // every replica adds it
    total = joined_loss(total, part);
  }
  check<FailedPrecondition>(
      total.defined(),
      "{} '{}': there is no loss to minimize. Pass a loss to compile, or add one with add_loss.",
      class_name(), name());
  return LossOfParts::asked_of(*this) ? total : whole_loss(total);
}

NamedValues<Tensor> Model::compute_metrics(const Tensors& x, const Tensors& y,
                                           const Tensors& y_pred, const Tensors& sample_weight) {
  if (object_) return object_->compute_metrics(x, y, y_pred, sample_weight);
  trainer_->update_metrics(*this, y, y_pred, sample_weight);
  return get_metrics_result();
}

}  // namespace cornu
