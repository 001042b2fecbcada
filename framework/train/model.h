// SPDX-License-Identifier: Apache-2.0
// Models: layers that can be trained, saved and summarized.
#pragma once

#include <atomic>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/callbacks/callback.h"
#include "framework/callbacks/logs.h"
#include "framework/graph/function.h"
#include "framework/losses/loss.h"
#include "framework/metrics/metric.h"
#include "framework/model/input.h"
#include "framework/model/layer.h"
#include "framework/strategy/batch_source.h"
#include "framework/train/generator_source.h"
#include "framework/train/optimizer.h"
#include "framework/train/profile.h"
#include "framework/train/saving_options.h"

namespace cornu {

// What compile takes for each output, in the forms that Keras takes:
//   .loss = "mse"                              for the only output, or for every one
//   .loss = {"mse", losses::Huber()}           one each, in the outputs' order
//   .loss = {{"price", "mse"}, {"kind", "ce"}} by output name
template <class T>
class PerOutput {
 public:
  using Named = std::pair<std::string, T>;
  PerOutput() = default;
  template <class U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, PerOutput>)
      PerOutput(U&& value)
      : list_{T(std::forward<U>(value))}, for_all_(true) {}       // NOLINT: implicit
  PerOutput(std::initializer_list<T> values) : list_(values) {}   // NOLINT
  PerOutput(std::vector<T> values) : list_(std::move(values)) {}  // NOLINT
  PerOutput(std::initializer_list<Named> named) {                 // NOLINT
    for (const Named& entry : named) add(entry.first, entry.second);
  }
  PerOutput(const std::map<std::string, T>& named) {  // NOLINT
    for (const auto& [name, value] : named) add(name, value);
  }
  bool empty() const { return list_.empty(); }
  bool has_names() const { return !names_.empty(); }
  // One value, given by itself.
  bool is_for_all() const { return for_all_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<T>& list() const { return list_; }
  void add(std::string name, T value) {
    names_.push_back(std::move(name));
    list_.push_back(std::move(value));
  }

 private:
  std::vector<std::string> names_;
  std::vector<T> list_;
  bool for_all_ = false;
};

// Metrics, in the forms that Keras takes:
//   .metrics = {"accuracy", metrics::AUC()}      all for the only output; or one for each output
//   .metrics = {{"mae", "mse"}, {}}              a list for each output, in their order
//   .metrics = {{"price", {"mae"}}, {"kind", {"accuracy"}}}   by output name
class MetricsArgument {
 public:
  // The metrics of one place of the list.
  struct Entry {
    Entry() = default;
    template <class... M>
    requires(sizeof...(M) > 0 && (std::is_convertible_v<M, Metric> && ...)) Entry(M&&... metrics)
        : list{Metric(std::forward<M>(metrics))...} {}                // NOLINT: implicit on purpose
    Entry(std::vector<Metric> metrics) : list(std::move(metrics)) {}  // NOLINT
    Entry(std::string output, std::vector<Metric> metrics)
        : output(std::move(output)), list(std::move(metrics)) {}

    std::string output = {};  // "": by place
    std::vector<Metric> list = {};
  };
  MetricsArgument() = default;
  MetricsArgument(std::initializer_list<Entry> entries) : entries_(entries) {}   // NOLINT
  MetricsArgument(std::vector<Entry> entries) : entries_(std::move(entries)) {}  // NOLINT
  MetricsArgument(const std::vector<Metric>& metrics)                            // NOLINT
      : entries_(metrics.begin(), metrics.end()) {}
  MetricsArgument(const std::vector<std::string>& names)  // NOLINT
      : entries_(names.begin(), names.end()) {}
  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// Arguments of compile, in Keras's order.
struct CompileOptions {
  Optimizer optimizer = "rmsprop";
  PerOutput<Loss> loss = {};
  PerOutput<double> loss_weights = {};
  MetricsArgument metrics = {};           // unweighted
  MetricsArgument weighted_metrics = {};  // weighted by sample_weight and class_weight
  bool run_eagerly = false;               // call the step op by op, for debugging
  int64_t steps_per_execution = 1;        // between calls of the callbacks' batch methods
  bool jit_compile = true;                // false: compile without any graph pass
  bool auto_scale_loss = true;  // a model of dtype "mixed_float16" has a LossScaleOptimizer
};

// 0 silent, 1 a progress bar, 2 one line an epoch; "auto" is 1 (2 where the output is no terminal).
class Verbose {
 public:
  Verbose(int level) : level_(level) {}  // NOLINT: implicit on purpose
  Verbose(const char* text);             // NOLINT: "auto", or InvalidArgument
  int resolve() const;

 private:
  std::optional<int> level_;
};

// Validation data: a source of batches, or arrays.
class ValidationData {
 public:
  ValidationData() = default;
  ValidationData(Tensors x, Tensors y, Tensors sample_weight = {})
      : x_(std::move(x)), y_(std::move(y)), sample_weight_(std::move(sample_weight)) {}
  ValidationData(std::shared_ptr<BatchSource> source) : source_(std::move(source)) {}  // NOLINT
  template <class T>
  requires(!std::is_same_v<T, ValidationData> && BatchProvider<T>)
      ValidationData(const T& batches)  // NOLINT: a Dataset, or a generator
      : ValidationData(source_of(batches)) {}
  bool empty() const { return !source_ && x_.empty(); }
  std::shared_ptr<BatchSource> source(int64_t batch_size) const;

 private:
  Tensors x_;
  Tensors y_;
  Tensors sample_weight_;
  std::shared_ptr<BatchSource> source_;
};

// Epochs after which to validate: every n-th, or the ones listed (counted from 1).
class ValidationFrequency {
 public:
  ValidationFrequency(int every) : every_(every) {}  // NOLINT: implicit on purpose
  ValidationFrequency(std::initializer_list<int> epochs) : epochs_(epochs) {}
  ValidationFrequency(std::vector<int> epochs) : epochs_(std::move(epochs)) {}  // NOLINT: likewise
  bool includes(int64_t epoch) const;                                           // counted from 0

 private:
  std::optional<int> every_;  // none: those that are listed
  std::vector<int> epochs_;
};

// One callback, or a list of them.
class Callbacks : public std::vector<CallbackHandle> {
 public:
  using std::vector<CallbackHandle>::vector;
  Callbacks(std::vector<CallbackHandle> list) : vector(std::move(list)) {}  // NOLINT: implicit
  template <std::derived_from<CallbackHandle> T>
  Callbacks(const T& callback) : vector{callback} {}  // NOLINT
};

// What an example of a class counts; 1 where there is nothing said.
class ClassWeight : public std::map<int64_t, double> {
 public:
  using std::map<int64_t, double>::map;
  template <class K, class V>
  requires(std::is_integral_v<K>&& std::is_arithmetic_v<V>)
      ClassWeight(const std::map<K, V>& weights)  // NOLINT: implicit on purpose
      : map(weights.begin(), weights.end()) {}
};

// Arguments of fit, in Keras's order.
struct FitOptions {
  std::optional<int64_t> batch_size = {};  // 32 for arrays; an error with a dataset
  int64_t epochs = 1;
  Verbose verbose = "auto";
  Callbacks callbacks = {};
  double validation_split = 0;  // of arrays: the last part, before shuffling
  ValidationData validation_data = {};
  bool shuffle = true;  // arrays, and a PyDataset's batches, before each epoch
  ClassWeight class_weight = {};
  Tensors sample_weight = {};  // one number an example, for all outputs or by output
  int64_t initial_epoch = 0;
  std::optional<int64_t> steps_per_epoch = {};  // the iterator resumes from epoch to epoch
  std::optional<int64_t> validation_steps = {};
  std::optional<int64_t> validation_batch_size = {};
  ValidationFrequency validation_freq = 1;
};

struct EvaluateOptions {
  std::optional<int64_t> batch_size = {};
  Verbose verbose = "auto";
  Tensors sample_weight = {};
  std::optional<int64_t> steps = {};
  Callbacks callbacks = {};
};

struct PredictOptions {
  std::optional<int64_t> batch_size = {};
  Verbose verbose = "auto";
  std::optional<int64_t> steps = {};
  Callbacks callbacks = {};
};

struct TrainOnBatchOptions {
  Tensors sample_weight = {};
  ClassWeight class_weight = {};
};

struct TestOnBatchOptions {
  Tensors sample_weight = {};
};

struct SummaryOptions {
  std::optional<int64_t> line_length = {};  // None: the terminal's width, at most 100 or so
  std::vector<double> positions = {};
  std::function<void(const std::string&)> print_fn = {};  // None: standard output
  bool expand_nested = false;
  bool show_trainable = false;
};

// An input of a model that is exported (keras.InputSpec).
struct InputSignature {
  Shape shape = {};                     // with the batch; kUnknown: any size
  std::optional<DTypeLike> dtype = {};  // None: the model's input's, or float32
  std::string name = {};                // "": the model's input's, or "input_0", …
};

// Arguments of export_, in Keras's order.
struct ExportOptions {
  std::string format = "onnx";
  std::vector<InputSignature> input_signature = {};  // none: the model's own inputs
  int64_t opset_version = 18;                        // of ONNX's operators, from 18 to 23
  // As onnx.save_model has them: whether weights go to a file of their own, "<filepath>.data"
  // (None: those of more than 1.5 GB in all, since a file of one piece ends at 2 GiB), and the
  // bytes from which on a tensor does; lists of integers that say shapes stay.
  std::optional<bool> save_as_external_data = {};
  int64_t size_threshold = 1024;
};

struct ModelOptions {
  std::string name = {};
  bool trainable = true;
  DTypeName dtype = {};
};

class FunctionalGraph;
class ModelBody;
class Trainer;

// A flag that all handles of a model share. Assigning sets it, from another model's too.
class SharedFlag {
 public:
  SharedFlag() : value_(std::make_shared<std::atomic<bool>>(false)) {}
  SharedFlag(const SharedFlag&) = default;   // shares
  operator bool() const { return *value_; }  // NOLINT: implicit on purpose
  SharedFlag& operator=(bool value) {
    *value_ = value;
    return *this;
  }
  SharedFlag& operator=(const SharedFlag& other) { return *this = static_cast<bool>(other); }
  void share(const SharedFlag& other) { value_ = other.value_; }

 private:
  std::shared_ptr<std::atomic<bool>> value_;
};

// A functional or Sequential model is a cheap handle: copies share all that belongs to it, layers,
// weights, flags and training state. A subclass overrides `call` (or call_list); it is an object.
// One of make_layer<T>(…) can be copied to a Model, which is a handle on it; a copy of any other is
// FailedPrecondition.
// Several threads may predict and evaluate with one model, also beside one that trains: they see
// the weights as they are between two steps. Training by a second thread is FailedPrecondition. Not
// thread-safe otherwise.
class Model : public Layer {
 public:
  Model();
  explicit Model(const ModelOptions& options);  // for subclasses
  bool is_remat_region() const override { return false; }
  Model(const Tensors& inputs, const Tensors& outputs, const ModelOptions& options = {});
  Model(const Model& other);  // shares
  // Makes this handle one on `other`. FailedPrecondition for a subclass's object, which is no
  // handle.
  Model& operator=(const Model& other);
  ~Model() override;
  // The functional model that get_config() of one tells of, with fresh weights.
  static Model from_config(const Json& config);

  // FailedPrecondition for a subclass's object, which can't be shared: make_layer<T>(…) makes one
  // that can.
  operator LayerHandle() const;  // NOLINT: implicit on purpose

  void compile(const CompileOptions& options);

  // Trains. `y` may be left out for models that only add losses. (A template is the last choice:
  // {.epochs = 2} are options, though g++ could make tensors of it.)
  History fit(const Tensors& x, const Tensors& y, const FitOptions& options);
  History fit(const Tensors& x, const FitOptions& options = {}) {
    return fit(x, Tensors(), options);
  }
  template <class = void>
  History fit(const Tensors& x, const Tensors& y) {
    return fit(x, y, FitOptions());
  }
  History fit(const std::shared_ptr<BatchSource>& source, const FitOptions& options = {});
  // Of a dataset; or of a generator, as Keras takes Python's: a function that gives a batch with
  // each call, as x, (x, y) or (x, y, sample_weight), a Batch or a dataset's element in a
  // std::optional, and nullopt at the end; or a function that makes such a one for each pass, of
  // which there is one an epoch, or more where steps_per_epoch asks for them. One that gives
  // batches is copied for each pass, with the state that it was given with:
  //
  //   model.fit([i = 0]() mutable -> std::optional<std::pair<Tensor, Tensor>> {
  //     if (i == 100) return std::nullopt;
  //     return read_batch(i++);
  //   }, {.epochs = 5});
  //
  // It is called by the thread that trains. A run that is resumed leaves out the batches that it
  // had, and workers each go through all of them for their own. Errors of it name the batch.
  template <BatchProvider T>
  History fit(const T& batches, const FitOptions& options = {}) {
    return fit(source_of(batches), options);
  }

  Logs evaluate(const Tensors& x, const Tensors& y, const EvaluateOptions& options);
  Logs evaluate(const Tensors& x, const EvaluateOptions& options = {}) {
    return evaluate(x, Tensors(), options);
  }
  template <class = void>
  Logs evaluate(const Tensors& x, const Tensors& y) {
    return evaluate(x, y, EvaluateOptions());
  }
  Logs evaluate(const std::shared_ptr<BatchSource>& source, const EvaluateOptions& options = {});
  template <BatchProvider T>
  Logs evaluate(const T& batches, const EvaluateOptions& options = {}) {
    return evaluate(source_of(batches), options);
  }

  Tensors predict(const Tensors& x, const PredictOptions& options = {});
  Tensors predict(const std::shared_ptr<BatchSource>& source, const PredictOptions& options = {});
  template <BatchProvider T>
  Tensors predict(const T& batches, const PredictOptions& options = {}) {
    return predict(source_of(batches), options);
  }

  // One step; its results are this batch's alone: metrics are reset first, as in Keras.
  Logs train_on_batch(const Tensors& x, const Tensors& y, const TrainOnBatchOptions& options = {});
  Logs test_on_batch(const Tensors& x, const Tensors& y, const TestOnBatchOptions& options = {});
  Tensors predict_on_batch(const Tensors& x);

  // What the instructions of the compiled step take for this one batch: of the prediction, or with
  // `y` of training. The model's variables, the optimizer and random seeds are afterwards as they
  // were. InvalidArgument without runs. FailedPrecondition where nothing is compiled (run_eagerly),
  // or training before compile; Unimplemented on devices that don't tell.
  Profile profile(const Tensors& x, const Tensors& y, const ProfileOptions& options);
  Profile profile(const Tensors& x, const ProfileOptions& options = {});
  template <class = void>
  Profile profile(const Tensors& x, const Tensors& y) {
    return profile(x, y, ProfileOptions());
  }

  // ---- to override: one step, traced into one compiled graph ----

  virtual NamedValues<Tensor> train_step(const Batch& data);
  virtual NamedValues<Tensor> test_step(const Batch& data);
  virtual Tensors predict_step(const Batch& data);
  // The total: compiled losses, weighted, plus losses().
  // Under a strategy's replicas it is the whole batch's where a train_step of one's own calls it,
  // and its gradient this replica's part. An override gives a part, as loss objects and
  // distribute::compute_average_loss do, and may add parts to this one's: what train_step and
  // test_step of Model show is the replicas' sum.
  virtual Tensor compute_loss(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                              const Tensors& sample_weight);
  // Updates the compiled metrics and returns get_metrics_result().
  virtual NamedValues<Tensor> compute_metrics(const Tensors& x, const Tensors& y,
                                              const Tensors& y_pred, const Tensors& sample_weight);

  // ---- state ----

  const Optimizer& optimizer() const;  // FailedPrecondition before compile
  // The loss, the compiled metrics, the losses of several outputs, and what this model and its
  // layers track: what fit resets before each epoch and each evaluation, as evaluate does. An
  // override that returns trackers of its own is what counts.
  virtual std::vector<Metric> metrics() const;
  virtual void reset_metrics();
  // The results of metrics(), under the names that logs have.
  NamedValues<Tensor> get_metrics_result() const;
  bool compiled() const;
  // What the steps took to be made that fit, evaluate and predict run: one for each signature that
  // is kept, by the names "train_step", "test_step" and "predict_step". None before the first step.
  std::vector<CompileReport> compile_reports() const;
  // Callbacks set these to end fit, evaluate (of fit's validation, too) or predict after this
  // batch; each call begins with false. They are the model's: where several threads call it at
  // once, one that is set ends whichever call sees it. Unimplemented where stop_evaluating is set
  // in a job of several workers.
  SharedFlag stop_training;
  SharedFlag stop_evaluating;
  SharedFlag stop_predicting;

  // Layers in Keras's order; of a functional model the inputs too.
  std::vector<LayerHandle> layers() const;
  // NotFound with the nearest known name.
  LayerHandle get_layer(const std::string& name) const;
  void summary(const SummaryOptions& options = {});
  // The placeholders that a functional model, or a Sequential one that knows its input, begins and
  // ends with; FailedPrecondition for others. Model(base.inputs(), base.get_layer("x").output())
  // is a model of its first layers.
  Tensors inputs() const;
  Tensors outputs() const;
  Tensors input() const override { return inputs(); }
  Tensors output() const override { return outputs(); }
  // Of the only input or output, kUnknown for unknown axes; InvalidArgument where there are
  // several.
  Shape input_shape() const;
  Shape output_shape() const;
  // Keras's to_json: architecture and compile arguments, without weights.
  std::string to_json() const;

  // Layer::quantize of all layers within that have such weights, no layers of their own, and names
  // that `filters` takes; others stay as they are. Nothing is changed where one of these can't be
  // quantized. Compiled models stay compiled. Reference: keras.Model.quantize.
  void quantize(const QuantizeOptions& options) override;
  using Layer::quantize;

  // Keras's .keras archive: architecture, weights, compile arguments and optimizer state; the same
  // of a functional or Sequential model in the form of Keras 2, which Keras calls legacy, where the
  // path ends in .h5 or .hdf5. Written atomically. InvalidArgument for a path that ends otherwise
  // and for what .h5 files don't hold (objects of classes, learned vocabularies),
  // FailedPrecondition before the weights exist, Unimplemented, naming it, for an op between layers
  // that Keras doesn't have.
  void save(const std::string& path, const SaveOptions& options = {});
  // Keras's .weights.h5, and .weights.json with shards; load_weights takes a .keras archive too,
  // and .h5 files in the form of Keras 2. Nothing is changed unless all weights fit:
  // InvalidArgument names the first that doesn't. The optimizer's state is restored where there is
  // one of the same variables. Should the disk fail while they are read, the weights have no values
  // until they are loaded again.
  void save_weights(const std::string& path, const SaveWeightsOptions& options = {});
  void load_weights(const std::string& path, const LoadWeightsOptions& options = {});
  // Keras's export, whose name is a keyword here: predict_step, for the weights as they are, as an
  // ONNX file for other runtimes. Inputs and outputs have the names of the model's, weights their
  // Keras paths (kernels of convolutions in ONNX's layout). Axes of unknown size, the batch first
  // of all, may have any when the file is run. bfloat16 becomes float32. Written atomically; a file
  // of external data is in place just before the one that names it.
  // FailedPrecondition before the weights exist, where the inputs aren't known and no
  // input_signature tells them, or where what is computed follows an axis of unknown size in a way
  // that can't be written; Unimplemented, naming the layer, for an op that ONNX doesn't have, and
  // for another format; InvalidArgument for names that aren't UTF-8, and for a negative
  // size_threshold; ResourceExhausted beyond 2 GiB in one piece.
  void export_(const std::string& filepath, const ExportOptions& options = {});

  std::string class_name() const override;
  Json module() const override;
  Json get_config() const override;
  bool autocast() const override;
  bool supports_masking() const override;
  const CallSignature& call_signature() const override;
  Tensor compute_mask(const Tensors& inputs, const Tensor& mask) const override;
  // Makes the weights for an input of this shape, of a subclass by its call on shapes alone.
  void build(const Shape& input_shape) override;
  void build_list(const std::vector<Shape>& input_shapes) override;
  Tensor call(const Tensor& x, const CallArgs& args) override;
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  NamedLayers sublayers() const override;
  std::shared_ptr<Layer> shared_self() override;
  std::optional<std::vector<std::shared_ptr<Layer>>> saved_list() const override;

  ModelBody* body() const { return body_.get(); }  // null for a subclass
  Trainer& trainer() const { return *trainer_; }
  // Whether all there is to this object is shared with its copies: not of a derived class's.
  bool is_handle() const;

 protected:
  explicit Model(std::shared_ptr<ModelBody> body, const ModelOptions& options);
  void require_built(const char* what) const;
  // An optimizer of a train_step's own, which files have as Keras's do ("d_optimizer/vars/0"): it
  // must be built to be loaded. InvalidArgument for "optimizer", "", names with '/', and no handle.
  Optimizer track_optimizer(const std::string& attribute, const Optimizer& optimizer);

 private:
  Model& subject() const;
  const FunctionalGraph& graph(const char* what) const;

  std::shared_ptr<ModelBody> body_;
  std::shared_ptr<Trainer> trainer_;
  std::shared_ptr<Model> object_;  // the subclass's object that this is a handle on
};

namespace internal {

template <std::derived_from<Model> T>
struct ModelHooks<T> {
  static constexpr void require() {
    using LossHook = Tensor (T::*)(const Tensors&, const Tensors&, const Tensors&, const Tensors&);
    using MetricsHook =
        NamedValues<Tensor> (T::*)(const Tensors&, const Tensors&, const Tensors&, const Tensors&);
    if constexpr (requires { &T::train_step; }) {
      static_assert(
          std::is_convertible_v<decltype(&T::train_step), NamedValues<Tensor> (T::*)(const Batch&)>,
          "train_step isn't the one of Model: write `override`");
    }
    if constexpr (requires { &T::test_step; }) {
      static_assert(
          std::is_convertible_v<decltype(&T::test_step), NamedValues<Tensor> (T::*)(const Batch&)>,
          "test_step isn't the one of Model: write `override`");
    }
    if constexpr (requires { &T::predict_step; }) {
      static_assert(std::is_convertible_v<decltype(&T::predict_step), Tensors (T::*)(const Batch&)>,
                    "predict_step isn't the one of Model: write `override`");
    }
    if constexpr (requires { &T::compute_loss; }) {
      static_assert(std::is_convertible_v<decltype(&T::compute_loss), LossHook>,
                    "compute_loss isn't the one of Model: write `override`");
    }
    if constexpr (requires { &T::compute_metrics; }) {
      static_assert(std::is_convertible_v<decltype(&T::compute_metrics), MetricsHook>,
                    "compute_metrics isn't the one of Model: write `override`");
    }
    if constexpr (requires { &T::metrics; }) {
      static_assert(
          std::is_convertible_v<decltype(&T::metrics), std::vector<Metric> (T::*)() const>,
          "metrics isn't the one of Model: write `override`");
    }
  }
};

}  // namespace internal

// What a Sequential model is made of: an Input first, layers, models.
class SequentialPart {
 public:
  SequentialPart(const Tensor& input) : input_(input) {}  // NOLINT: implicit on purpose
  template <class T>
  requires(std::is_convertible_v<const T&, LayerHandle>) SequentialPart(const T& layer)  // NOLINT
      : layer_(static_cast<LayerHandle>(layer)) {}
  template <class T>
  requires(std::is_base_of_v<Layer, T> && !std::is_convertible_v<const T&, LayerHandle>)
      SequentialPart(const T&) {  // NOLINT
    static_assert(internal::kNever<T>,
                  "Sequential shares its layers: make this one with make_layer<T>(…).");
  }
  const Tensor& input() const { return input_; }  // undefined for a layer
  const LayerHandle& layer() const { return layer_; }

 private:
  Tensor input_;
  LayerHandle layer_;
};

// Layers one after another. A cheap handle, as functional models are.
class Sequential : public Model {
 public:
  explicit Sequential(const ModelOptions& options = {});
  // Built at once where the first part is an Input.
  Sequential(std::initializer_list<SequentialPart> parts, const ModelOptions& options = {});
  explicit Sequential(const std::vector<LayerHandle>& layers, const ModelOptions& options = {});
  // Starts with an Input: the model is built at once.
  Sequential(const Tensor& input, std::initializer_list<LayerHandle> layers,
             const ModelOptions& options = {});

  // The model that get_config() of one tells of, with fresh weights.
  static Sequential from_config(const Json& config);

  void add(const LayerHandle& layer);
  void add(const Tensor& input);  // an Input, first
  void pop();                     // removes the last layer
};

// Loads a .keras file, or a whole model's .h5: NotFound, DataLoss (naming file and member), or
// InvalidArgument for classes this build doesn't know (with the nearest known one). Runs no code
// from the file. Of a .onnx file it makes a functional model, which isn't compiled; Unimplemented,
// naming node and operator, for what isn't read (docs/from_keras.md says what is).
Model load_model(const std::string& path, const LoadOptions& options = {});

// The model that to_json() gave (of Keras or Cornu), with fresh weights; compiled where it was.
Model model_from_json(const std::string& json);

// Arguments of clone_model, in Keras's order.
struct CloneOptions {
  Tensors input_tensors = {};  // placeholders to build on, as the model's inputs; empty: new ones
  // Makes the new layer of each layer that isn't an Input: one like it, another one, or the same.
  // Once for a layer that is called several times. None: from its config.
  std::function<LayerHandle(const LayerHandle& layer)> clone_function = {};
  // Calls a new layer in place of a functional model's old one. None: `layer(inputs, options)`.
  std::function<Tensors(const LayerHandle& layer, const Tensors& inputs,
                        const CallOptions& options)>
      call_function = {};
  bool recursive = false;  // whether models within the model are cloned layer by layer, too
};

// A functional or Sequential model like this one with weights of its own
// (keras.models.clone_model), compiled where it was, with a new optimizer. InvalidArgument for
// objects of classes, and for options that don't go with the model.
Model clone_model(const Model& model, const CloneOptions& options = {});

}  // namespace cornu
