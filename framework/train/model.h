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
#include "framework/train/compile_options.h"
#include "framework/train/generator_source.h"
#include "framework/train/optimizer.h"
#include "framework/train/profile.h"
#include "framework/train/saving_options.h"

namespace cornu {

// 0: silent, 1: a progress bar (only its last state if output isn't a terminal), 2: one line per
// epoch; "auto": 1.
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
  // Arrays without a batch_size are divided as by fit.
  std::shared_ptr<BatchSource> source(std::optional<int64_t> batch_size,
                                      std::optional<int64_t> steps) const;

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
  std::optional<int> every_;  // nullopt: the listed epochs
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

// Weights of classes, applied to their examples; unlisted classes have weight 1.
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
  // Of arrays, not allowed with a dataset. None: 32, or all rows divided by steps_per_epoch.
  std::optional<int64_t> batch_size = {};
  int64_t epochs = 1;
  Verbose verbose = "auto";
  Callbacks callbacks = {};
  double validation_split = 0;  // of arrays: the last part, taken before shuffling
  ValidationData validation_data = {};
  bool shuffle = true;  // arrays, and a PyDataset's batches, before each epoch
  ClassWeight class_weight = {};
  Tensors sample_weight = {};  // one number per example, for all outputs or per output
  int64_t initial_epoch = 0;
  std::optional<int64_t> steps_per_epoch = {};  // the iterator continues across epochs
  std::optional<int64_t> validation_steps = {};
  // None: batch_size, or by default 32, or all rows divided by validation_steps.
  std::optional<int64_t> validation_batch_size = {};
  ValidationFrequency validation_freq = 1;
};

struct EvaluateOptions {
  std::optional<int64_t> batch_size = {};  // of arrays. None: 32, or all rows divided by steps
  Verbose verbose = "auto";
  Tensors sample_weight = {};
  std::optional<int64_t> steps = {};
  Callbacks callbacks = {};
};

struct PredictOptions {
  std::optional<int64_t> batch_size = {};  // see EvaluateOptions
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
  std::optional<int64_t> line_length = {};  // None: the terminal's width, at most about 100
  std::vector<double> positions = {};
  std::function<void(const std::string&)> print_fn = {};  // None: standard output
  bool expand_nested = false;
  bool show_trainable = false;
};

// The signature of an input of an exported model (keras.InputSpec).
struct InputSignature {
  Shape shape = {};                     // including the batch axis; kUnknown: any size
  std::optional<DTypeLike> dtype = {};  // None: that of the model's input, or float32
  std::string name = {};                // "": that of the model's input, or "input_0", …
};

// Arguments of export_, in Keras's order.
struct ExportOptions {
  std::string format = "onnx";
  std::vector<InputSignature> input_signature = {};  // empty: the model's own inputs
  int64_t opset_version = 18;                        // the ONNX operator set, from 18 to 23
  // As in onnx.save_model: whether weights go to a separate file, "<filepath>.data" (None: if they
  // exceed 1.5 GB, since a single file is limited to 2 GiB), and the minimum size in bytes of
  // tensors that do. Integer lists that describe shapes stay in the main file.
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

// A flag shared by all handles to a model. Assignment sets its value, even from another model's.
class SharedFlag {
 public:
  SharedFlag() : value_(std::make_shared<std::atomic<bool>>(false)) {}
  SharedFlag(const SharedFlag&) = default;   // shares the flag
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

// A functional or Sequential model is a cheap handle: copies share its layers, weights, flags and
// training state. A subclass overrides `call` (or call_list) and is an object. If created with
// make_layer<T>(…), it can be copied to a Model, which is then a handle to it; copying any other
// object throws FailedPrecondition.
// Several threads may predict and evaluate with one model while another trains it: they see the
// weights between two steps. Training from a second thread throws FailedPrecondition. Otherwise not
// thread-safe.
class Model : public Layer {
 public:
  Model();
  explicit Model(const ModelOptions& options);  // for subclasses
  bool is_remat_region() const override { return false; }
  Model(const Tensors& inputs, const Tensors& outputs, const ModelOptions& options = {});
  Model(const Model& other);  // shares state
  // Makes this handle refer to `other`. Throws FailedPrecondition when called on an object of a
  // subclass, which isn't a handle.
  Model& operator=(const Model& other);
  ~Model() override;
  // Recreates a functional model from its get_config(), with newly initialized weights.
  static Model from_config(const Json& config);

  // Throws FailedPrecondition for a subclass object not created with make_layer<T>(…).
  operator LayerHandle() const;  // NOLINT: implicit on purpose

  void compile(const CompileOptions& options);

  // Trains the model. `y` may be omitted for models that only add losses. (One overload is a
  // template to have lower priority: {.epochs = 2} are options, not tensors as g++ could assume.)
  History fit(const Tensors& x, const Tensors& y, const FitOptions& options);
  History fit(const Tensors& x, const FitOptions& options = {}) {
    return fit(x, Tensors(), options);
  }
  template <class = void>
  History fit(const Tensors& x, const Tensors& y) {
    return fit(x, y, FitOptions());
  }
  History fit(const std::shared_ptr<BatchSource>& source, const FitOptions& options = {});
  // Trains on a dataset or a generator. As in Keras, a generator is a function that returns a batch
  // with each call, as x, (x, y) or (x, y, sample_weight), a Batch or a dataset element, in a
  // std::optional, and nullopt at the end; or a function that returns such a function for each pass
  // (one per epoch, or more if steps_per_epoch requires it). A function that returns batches is
  // copied for each pass, with its initial state:
  //
  //   model.fit([i = 0]() mutable -> std::optional<std::pair<Tensor, Tensor>> {
  //     if (i == 100) return std::nullopt;
  //     return read_batch(i++);
  //   }, {.epochs = 5});
  //
  // It is called on the training thread. A resumed run skips the batches it has already used, and
  // each worker goes through all batches itself. Errors thrown by the generator name the batch.
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

  // Runs one step. The results are for this batch alone: metrics are reset first, as in Keras.
  Logs train_on_batch(const Tensors& x, const Tensors& y, const TrainOnBatchOptions& options = {});
  Logs test_on_batch(const Tensors& x, const Tensors& y, const TestOnBatchOptions& options = {});
  Tensors predict_on_batch(const Tensors& x);

  // Measures the instructions of the compiled step for this batch: the prediction step or, with
  // `y`, the training step. Restores the model's variables, the optimizer and random seeds
  // afterwards. Throws InvalidArgument without runs; FailedPrecondition when nothing is compiled
  // (run_eagerly), for training before compile, and on TPUs, which don't record instructions.
  Profile profile(const Tensors& x, const Tensors& y, const ProfileOptions& options);
  Profile profile(const Tensors& x, const ProfileOptions& options = {});
  template <class = void>
  Profile profile(const Tensors& x, const Tensors& y) {
    return profile(x, y, ProfileOptions());
  }

  // ---- to override: one step, traced into one compiled graph ----

  // What train_step and test_step return are numbers for the logs, by name. Metrics' results refer
  // to all replicas; other numbers are averaged over the replicas that have examples, as in Keras.
  virtual NamedValues<Tensor> train_step(const Batch& data);
  virtual NamedValues<Tensor> test_step(const Batch& data);
  virtual Tensors predict_step(const Batch& data);
  // Returns the total loss: the weighted compiled losses plus losses(). With several replicas, a
  // custom train_step that calls this gets the whole batch's loss, whose gradient is this replica's
  // part. An override must return this replica's part, like loss objects and
  // distribute::compute_average_loss, and may add parts to the result of this implementation;
  // Model's train_step and test_step report the sum over replicas.
  virtual Tensor compute_loss(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                              const Tensors& sample_weight);
  // Updates the compiled metrics and returns get_metrics_result().
  virtual NamedValues<Tensor> compute_metrics(const Tensors& x, const Tensors& y,
                                              const Tensors& y_pred, const Tensors& sample_weight);

  // ---- state ----

  const Optimizer& optimizer() const;  // throws FailedPrecondition before compile
  // The loss, the compiled metrics, the losses of several outputs, and metrics tracked by this
  // model and its layers. fit resets them before each epoch and evaluation, as does evaluate.
  // Trackers returned by an override are used instead.
  virtual std::vector<Metric> metrics() const;
  virtual void reset_metrics();
  // Returns the results of metrics(), under the names used in logs.
  NamedValues<Tensor> get_metrics_result() const;
  bool compiled() const;
  // Reports on compiling the steps of fit, evaluate and predict: one for each cached input
  // signature, named "train_step", "test_step" or "predict_step". Empty before the first step.
  std::vector<CompileReport> compile_reports() const;
  // Callbacks set these to end fit, evaluate (including fit's validation) or predict after the
  // current batch; each call resets its flag first. The flags belong to the model: with concurrent
  // calls, a flag ends whichever call sees it. Throws Unimplemented if stop_evaluating is set in a
  // job of several workers.
  SharedFlag stop_training;
  SharedFlag stop_evaluating;
  SharedFlag stop_predicting;

  // Layers in Keras's order, including the inputs of a functional model. `operations` also has the
  // ops that a functional model applies outside of layers, each where it runs.
  std::vector<LayerHandle> layers() const;
  std::vector<LayerHandle> operations() const;
  // Also finds ops. Throws NotFound, suggesting the nearest known name.
  LayerHandle get_layer(const std::string& name) const;
  void summary(const SummaryOptions& options = {});
  // The input and output placeholders of a functional model, or of a Sequential model whose input
  // is known; throws FailedPrecondition for others. Model(base.inputs(),
  // base.get_layer("x").output()) is a model of the first layers of `base`.
  Tensors inputs() const;
  Tensors outputs() const;
  Tensors input() const override { return inputs(); }
  Tensors output() const override { return outputs(); }
  // Shape of the only input or output, with kUnknown for unknown axes; throws InvalidArgument if
  // there are several.
  Shape input_shape() const;
  Shape output_shape() const;
  // Keras's to_json: architecture and compile arguments, without weights.
  std::string to_json() const;

  // Quantizes (Layer::quantize) all layers that have quantizable weights, no sub-layers, and names
  // accepted by `filters`. Nothing is changed if one of them can't be quantized. Compiled models
  // stay compiled. Reference: keras.Model.quantize.
  void quantize(const QuantizeOptions& options) override;
  using Layer::quantize;

  // Saves the architecture, weights, compile arguments and optimizer state to Keras's .keras
  // archive. If the path ends in .h5 or .hdf5, saves a functional or Sequential model in the Keras
  // 2 format, which Keras calls legacy. Written atomically. Throws InvalidArgument for a path with
  // another extension and for anything that .h5 files can't hold (objects of classes, learned
  // vocabularies), FailedPrecondition before the weights exist, and Unimplemented, naming the op,
  // for an op between layers that Keras doesn't have.
  void save(const std::string& path, const SaveOptions& options = {});
  // Save and load weights in Keras's .weights.h5, or .weights.json with shards; load_weights also
  // accepts .keras archives and .h5 files in the Keras 2 format. Nothing is changed unless all
  // weights fit: InvalidArgument names the first that doesn't. The optimizer's state is restored if
  // the file has one for the same variables. If the disk fails during reading, the weights have no
  // values until they are loaded again.
  void save_weights(const std::string& path, const SaveWeightsOptions& options = {});
  void load_weights(const std::string& path, const LoadWeightsOptions& options = {});
  // Keras's export (`export` is a keyword in C++): writes predict_step with the current weights to
  // an ONNX file for other runtimes. Inputs and outputs are named as in the model, and weights by
  // their Keras paths (convolution kernels in ONNX's layout). Axes of unknown size, in particular
  // the batch axis, may have any size at inference time. bfloat16 becomes float32. Written
  // atomically; a file of external data is put in place just before the file that refers to it.
  // Throws FailedPrecondition before the weights exist, when the inputs aren't known and no
  // input_signature is given, or when the computation depends on an axis of unknown size in a way
  // that can't be expressed; Unimplemented, naming the layer, for an op that ONNX doesn't have, and
  // for other formats; InvalidArgument for names that aren't UTF-8 and for a negative
  // size_threshold; ResourceExhausted for a single piece of more than 2 GiB.
  void export_(const std::string& filepath, const ExportOptions& options = {});

  std::string class_name() const override;
  Json module() const override;
  Json get_config() const override;
  bool autocast() const override;
  bool autocasts_variables() const override;
  bool supports_masking() const override;
  const CallSignature& call_signature() const override;
  Tensor compute_mask(const Tensors& inputs, const Tensor& mask) const override;
  // Creates the weights for an input of this shape; a subclass runs its call on shapes only.
  void build(const Shape& input_shape) override;
  void build_list(const std::vector<Shape>& input_shapes) override;
  Tensor call(const Tensor& x, const CallArgs& args) override;
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  // Throws InvalidArgument unless a subclass overrides it: LoRA adapts layers.
  void enable_lora(const LoraOptions& options) override;
  NamedLayers sublayers() const override;
  std::shared_ptr<Layer> shared_self() override;
  std::optional<std::vector<std::shared_ptr<Layer>>> saved_list() const override;

  ModelBody* body() const { return body_.get(); }  // null for a subclass
  Trainer& trainer() const { return *trainer_; }
  // Whether copies share all state of this object; false for objects of derived classes.
  bool is_handle() const;

 protected:
  explicit Model(std::shared_ptr<ModelBody> body, const ModelOptions& options);
  void require_built(const char* what) const;
  // Registers another optimizer used by a custom train_step, saved as in Keras
  // ("d_optimizer/vars/0"). Must be built before loading. Throws InvalidArgument for "optimizer",
  // "", names with '/', and an empty handle.
  Optimizer track_optimizer(const std::string& attribute, const Optimizer& optimizer);

 private:
  Model& subject() const;
  const FunctionalGraph& graph(const char* what) const;

  std::shared_ptr<ModelBody> body_;
  std::shared_ptr<Trainer> trainer_;
  std::shared_ptr<Model> object_;  // the subclass object that this is a handle to
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

// A part of a Sequential model: an Input (only as the first part), a layer, or a model.
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

// A linear stack of layers. A cheap handle, like a functional model.
class Sequential : public Model {
 public:
  explicit Sequential(const ModelOptions& options = {});
  // Built immediately if the first part is an Input.
  Sequential(std::initializer_list<SequentialPart> parts, const ModelOptions& options = {});
  explicit Sequential(const std::vector<LayerHandle>& layers, const ModelOptions& options = {});
  // Starts with an Input, so the model is built immediately.
  Sequential(const Tensor& input, std::initializer_list<LayerHandle> layers,
             const ModelOptions& options = {});

  // Recreates a Sequential model from its get_config(), with newly initialized weights.
  static Sequential from_config(const Json& config);

  void add(const LayerHandle& layer);
  void add(const Tensor& input);  // an Input; must come first
  void pop();                     // removes the last layer
};

// Loads a .keras file, or a whole model's .h5 file. Throws NotFound, DataLoss (naming file and
// member), or InvalidArgument for classes this build doesn't know (suggesting the nearest one).
// Never runs code from the file. A .onnx file is loaded as an uncompiled functional model; throws
// Unimplemented, naming node and operator, if not supported (see docs/from_keras.md).
Model load_model(const std::string& path, const LoadOptions& options = {});

// Recreates a model from to_json() (of Keras or Cornu) with new weights; compiled if it was.
Model model_from_json(const std::string& json);

// Arguments of clone_model, in Keras's order.
struct CloneOptions {
  Tensors input_tensors = {};  // placeholders to use as the model's inputs; empty: new ones
  // Returns the new layer for each layer that isn't an Input: a similar one, another one, or the
  // same. Called once for a layer that is used several times. None: creates it from its config.
  std::function<LayerHandle(const LayerHandle& layer)> clone_function = {};
  // Calls a new layer in place of a functional model's old one. None: `layer(inputs, options)`.
  std::function<Tensors(const LayerHandle& layer, const Tensors& inputs,
                        const CallOptions& options)>
      call_function = {};
  bool recursive = false;  // also clone nested models layer by layer
};

// Returns a copy of a functional or Sequential model with its own weights
// (keras.models.clone_model); it is compiled, with a new optimizer, if the original was. Throws
// InvalidArgument for objects of classes and for options that don't apply to the model.
Model clone_model(const Model& model, const CloneOptions& options = {});

}  // namespace cornu
