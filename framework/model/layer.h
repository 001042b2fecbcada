// SPDX-License-Identifier: Apache-2.0
// Layers: the base class, and the handle that built-in layers derive from.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/core/handle.h"
#include "framework/core/json.h"
#include "framework/core/tensors.h"
#include "framework/core/variable.h"
#include "framework/model/lora_options.h"
#include "framework/model/parts.h"
#include "framework/model/quantization.h"

namespace cornu {

class KerasNode;
class Layer;
class LayerHandle;
class MetricImpl;
class Model;
class Sequential;
namespace internal {
class CallFrame;
struct LayerState;
}  // namespace internal

// What a caller may pass in addition to the inputs.
struct CallOptions {
  std::optional<bool> training = {};  // None: the caller's, else training_by_default()
  // Boolean masks, one for each input (undefined: none); for named arguments, trailing masks may be
  // omitted. They replace the masks carried by the inputs.
  Tensors mask = {};
  // Non-tensor arguments, for layers that have some (Layer::call_signature):
  // {"use_causal_mask": true}. Null: none.
  Json settings = {};
};

// The arguments that a layer's call takes in addition to `training` and `mask`, under Keras's
// names.
struct CallSignature {
  // The inputs that are separate arguments, in order ("query", "value"). Further inputs belong to
  // the last argument, which is then a list. Empty: all inputs form Keras's first argument.
  std::vector<std::string> inputs = {};
  std::vector<std::string> settings = {};
  size_t built = 0;  // how many of the leading inputs Keras's build takes
};

// What `call` receives in addition to the inputs, with all defaults resolved.
struct CallArgs {
  bool training = false;
  Tensor mask = {};         // the mask carried by the only input, if any
  bool mask_given = false;  // masks were passed explicitly rather than carried by the inputs
  Json settings = {};       // as in CallOptions
  // Lets `dense_(x, args)` pass on the training flag. The mask isn't passed on: tensors carry their
  // own masks.
  operator CallOptions() const { return {.training = training}; }  // NOLINT: implicit on purpose
};

// Arguments of add_weight, in Keras's order.
struct WeightOptions {
  Shape shape = {};
  Initializer initializer = {};         // None: glorot_uniform for floats, zeros otherwise
  std::optional<DTypeLike> dtype = {};  // None: the layer's variable dtype
  bool trainable = true;
  bool autocast = true;  // as in VariableOptions
  Regularizer regularizer = {};
  Constraint constraint = {};
  VariableAggregation aggregation = VariableAggregation::None;
  bool sparse_gradients = false;  // as in VariableOptions
  std::string name = "variable";
};

// Base-layer arguments, last in every layer's options.
struct LayerOptions {
  std::string name = {};  // empty: unique, from the class in snake_case ("dense", "dense_1")
  DTypeName dtype = {};   // "float32", DType::Float32, "mixed_bfloat16", …; empty: dtype_policy()
  bool trainable = true;
  Regularizer activity_regularizer = {};

  // Reads the options written by Layer::get_config() or by Keras; missing ones keep their defaults.
  static LayerOptions from_config(const Json& config);
};

// Dtypes and shapes of masks, one per tensor; nullopt for a tensor without a mask.
using MaskTypes = std::vector<std::optional<std::pair<DType, Shape>>>;

// Compute and variable dtypes ("mixed_bfloat16" computes in bfloat16 on float32 variables), and how
// weights are quantized ("int8_from_mixed_bfloat16", "int4/128_from_float32").
struct DTypePolicy {
  DType compute = DType::Float32;
  DType variable = DType::Float32;
  std::string quantization_mode = {};      // "int8", "int4"; empty: not quantized
  std::optional<int64_t> block_size = {};  // 128 in "int4/128_from_float32"; -1, None: no blocks
  // Throws InvalidArgument, suggesting the nearest known name, for an unknown policy; also for int8
  // with a policy that computes in float16, and for a block size that is neither positive nor -1.
  // Throws Unimplemented for Keras's other quantization modes.
  static DTypePolicy parse(const std::string& name);
  std::string name() const;
};

// A unit of computation with weights. Subclasses create weights in `build` and compute in `call`.
// Layers can't be copied; create shared ones with make_layer<T>(…).
//
// The layers that a layer calls are its sub-layers, and their weights and losses belong to it.
// Layers called during its first call (in `build` or `call`) become sub-layers automatically.
// track(…) does this immediately, sets the name used in files, and is needed for layers that the
// first call skips: a later call throws FailedPrecondition if it uses an untracked layer with
// weights.
//
// Thread safety: a built layer may be called from several threads concurrently, as long as no
// thread writes variables. The first call of a layer is made by one thread while others wait.
class Layer : public std::enable_shared_from_this<Layer> {
 public:
  explicit Layer(const LayerOptions& options = {});
  virtual ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // Builds the layer if necessary, and calls it. Undefined tensors among named inputs, and among
  // the inputs of a layer whose call has named arguments, count as not given (Python's None), with
  // their masks; others throw InvalidArgument. When inputs or masks are placeholders (from
  // Input), records a node of a functional graph and returns placeholders; in that case, throws
  // FailedPrecondition if the layer isn't owned by a handle. Errors thrown within the call name the
  // layer.
  Tensors operator()(const Tensors& inputs, const CallOptions& options = {});

  // ---- to override ----

  // Creates the weights for one input of this shape (kUnknown for unknown axes).
  virtual void build(const Shape& input_shape);
  // As above, for several inputs; by default calls build() with the shape of the first.
  virtual void build_list(const std::vector<Shape>& input_shapes);
  // Computes the layer's output for one input; override call_list for several inputs.
  virtual Tensor call(const Tensor& x, const CallArgs& args);
  virtual Tensors call_list(const Tensors& inputs, const CallArgs& args);
  // Keras's class name; for user-defined classes, the C++ class name.
  virtual std::string class_name() const;
  // Keras's get_config(). Subclasses add to the base config: name, trainable, dtype, and the
  // activity regularizer if there is one.
  virtual Json get_config() const;
  // The module written to saved configs: "keras.layers"; null for classes that aren't part of
  // Keras.
  virtual Json module() const;
  // Whether floating inputs are cast to compute_dtype() before the call (default: true).
  virtual bool autocast() const { return true; }
  // Whether the call reads floating variables in compute_dtype(), unless they opt out
  // (WeightOptions::autocast); by default, as autocast().
  virtual bool autocasts_variables() const { return autocast(); }
  // Value of `training` when neither the caller nor any enclosing layer sets it (default: false;
  // true for Keras's augmentation layers).
  virtual bool training_by_default() const { return false; }
  // Whether the input's mask is passed on to the output (default: false).
  virtual bool supports_masking() const { return false; }
  // Whether a RematScope applies to the layer's call as a whole (default: true; models leave it to
  // their layers).
  virtual bool is_remat_region() const { return true; }
  // Returns the mask of the outputs: by default the input's if supports_masking(), otherwise none.
  // With several inputs, `mask` is that of the first; when it is passed on, each output gets the
  // mask of the input at the same position. An output to which call attached a mask (with_mask)
  // keeps it.
  virtual Tensor compute_mask(const Tensors& inputs, const Tensor& mask) const;
  // The handle that functional graphs keep to this layer; null when no handle owns the layer.
  virtual std::shared_ptr<Layer> shared_self() { return weak_from_this().lock(); }
  // The sub-layers, with their names: by default tracked(); a model's layers come first.
  using NamedLayers = std::vector<std::pair<std::string, std::shared_ptr<Layer>>>;
  virtual NamedLayers sublayers() const;
  // This layer and all layers within it, at any depth, each once and without ops, in the order of
  // Keras's _flatten_layers: a layer precedes those within it; the sub-layers of this layer are in
  // order, those of each other layer in reverse order. Sequential models have no InputLayer here.
  // Handles to plain objects (members, and this layer unless a handle owns it) are valid for as
  // long as the object lives.
  std::vector<LayerHandle> flatten_layers() const;
  // The list saved under "layers" in files: all layers of a model. nullopt for other layers, whose
  // sub-layers are saved by attribute only.
  virtual std::optional<std::vector<std::shared_ptr<Layer>>> saved_list() const { return {}; }
  // The arguments of the call. If inputs are named, build_list (via built_names()) and call_list
  // see these names on all inputs; callers may pass inputs by name or in order.
  virtual const CallSignature& call_signature() const;

  // ---- state ----

  const std::string& name() const;
  bool built() const;
  bool trainable() const;
  // Also applies to all sub-layers. A layer that isn't trainable has no trainable weights, even if
  // its sub-layers are made trainable later (Keras's rule).
  void set_trainable(bool trainable);
  const DTypePolicy& dtype_policy() const;
  DType compute_dtype() const { return dtype_policy().compute; }
  DType variable_dtype() const { return dtype_policy().variable; }
  const Regularizer& activity_regularizer() const;

  // The layer's own weights, then those of its sub-layers. In weights(), trainable ones come first,
  // layer by layer, as in Keras.
  std::vector<Variable> weights() const;
  std::vector<Variable> trainable_weights() const;
  std::vector<Variable> non_trainable_weights() const;
  // weights() plus state that doesn't count as weights, such as that of seed generators.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const { return trainable_weights(); }
  std::vector<Variable> non_trainable_variables() const;
  const std::vector<Variable>& own_weights() const;
  // The layer's own weights in Keras's order: those created as trainable (even if frozen later),
  // then the others.
  std::vector<Variable> own_weights_in_order() const;
  const std::vector<Variable>& own_state() const;  // seed generators
  // Returns the layer's own weight that was added or tracked under this name ("kernel"). Throws
  // FailedPrecondition before the layer is built, and NotFound, suggesting the nearest known name,
  // for an unknown name.
  Variable weight(const std::string& name) const;
  // Sub-layers by attribute: tracked ones, then those discovered by calls.
  NamedLayers tracked() const;
  // Metrics tracked by this layer, excluding those of sub-layers.
  const std::vector<std::shared_ptr<MetricImpl>>& tracked_metrics() const;

  std::vector<Tensor> get_weights() const;  // copies
  // Throws InvalidArgument, naming the weight, when the number of values or a shape differs.
  void set_weights(const std::vector<Tensor>& values);
  // The number of elements of weights(). Throws FailedPrecondition before there are any, unless the
  // layer is built.
  int64_t count_params() const;

  // Replaces weights by int8 or int4 weights with scales, and the dtype policy by "int8_from_…" or
  // "int4/128_from_…", like keras.Layer.quantize. Supported by Dense, EinsumDense, Embedding and
  // ReversibleEmbedding; a Model quantizes all such layers. Quantized weights aren't trained, but
  // LoRA may adapt them. Functions traced earlier keep using their old weights. Must not run while
  // other threads call the layer. Throws FailedPrecondition before the layer is built, in a traced
  // function, and when the layer is already quantized; Unimplemented for other layers and for modes
  // other than "int8" and "int4"; InvalidArgument for int8 in a layer that computes in float16.
  virtual void quantize(const QuantizeOptions& options);
  template <std::convertible_to<std::string> T>
  void quantize(const T& mode) {
    quantize(QuantizeOptions{.mode = mode});
  }

  // Freezes the layer's kernel and trains two small weights instead, which are added to it, like
  // enable_lora of Keras's layers: see LoraOptions. Supported by Dense, EinsumDense, Embedding,
  // ReversibleEmbedding, Conv1D, Conv2D and Conv3D; flatten_layers() finds such layers within
  // others. Must not run while other threads call the layer. Throws InvalidArgument for other
  // layers, models included, for a rank below 1, and when the kernel has a constraint;
  // FailedPrecondition for a layer that isn't built yet or is already adapted.
  virtual void enable_lora(const LoraOptions& options);

  // Losses of this layer and its sub-layers: those added in this thread's last call (add_loss, and
  // activity regularizers divided by the batch size) and those of weight regularizers.
  std::vector<Tensor> losses() const;

  // Zeros the state that stateful recurrent layers (this layer or its sub-layers) keep between
  // calls: use `model.reset_states()` before a new sequence. Reference:
  // tf.keras.Model.reset_states.
  void reset_states() const;

  // Builds the layer for these input shapes if it isn't built yet, as operator() does first.
  // `names` are the names of the inputs, for layers with named arguments; if empty, inputs are in
  // order.
  void ensure_built(const std::vector<Shape>& input_shapes, std::vector<std::string> names = {});
  // Shapes with which the layer was built, and the input names if its call has named arguments;
  // empty before it is built.
  const std::vector<Shape>& built_shapes() const;
  const std::vector<std::string>& built_names() const;
  // Returns the output dtypes and shapes for inputs that may have unknown axes. `names` are the
  // names of the inputs, if they have any.
  std::vector<std::pair<DType, Shape>> compute_output_types(
      const std::vector<std::pair<DType, Shape>>& inputs, const CallOptions& options = {},
      const std::vector<std::string>& names = {});
  Shape compute_output_shape(const Shape& input_shape, DTypeLike dtype = DType::Float32);

  // The placeholders of the layer's first call on placeholders, i.e. what a functional model with
  // this layer reads and produces there. Throws FailedPrecondition when there was no such call.
  virtual Tensors input() const;
  virtual Tensors output() const;
  // Used by functional graphs: numbers a layer's calls on placeholders and records them.
  int64_t add_node(const std::shared_ptr<KerasNode>& node);

 protected:
  // Creates a weight, or state when not trainable. Call it in build (or a constructor).
  Variable add_weight(const WeightOptions& options);
  // Adds state that isn't a weight (not counted as a parameter), such as that of a seed generator,
  // which is always read in its own dtype. Use OnRead for values computed from each replica's own
  // rows, which may differ between replicas.
  Variable add_state(const std::string& name, const Tensor& initial_value,
                     VariableSynchronization synchronization = VariableSynchronization::Auto);
  // Adds a scalar to losses(); call it during call.
  void add_loss(const Tensor& loss);

  // Makes `thing` a part of this layer and returns it. `thing` may be a layer (built-in, made by
  // make_layer, or a member), a container of layers (vector, array or map, of layers or of pointers
  // to them), a metric, a random::SeedGenerator (whose state is among variables() but not
  // weights(), as in Keras) or, with a name, a variable (one of add_weight only gets that name).
  // Weights are saved under the attribute's name, those of containers under "attribute/dense",
  // "attribute/dense_1"; without a name, under the numbered snake_case name of the class. Throws
  // AlreadyExists for a name that is taken. Call it in a constructor or in build.
  //   Mlp() : dense_(track(layers::Dense({.units = 8}))) { track("blocks", blocks_); }
  template <class T>
  T track(T&& thing) {
    return track<T>("", std::forward<T>(thing));
  }
  template <class T>
  T track(const std::string& attribute, T&& thing);

  void set_name(std::string name);
  // Implements reset_states for this layer alone, without its sub-layers.
  virtual void zero_states() const {}
  // For layers whose weights change after they are built: remove_weight removes a weight and its
  // regularizer; set_quantization records how the weights that replaced it are quantized.
  void remove_weight(const Variable& weight);
  void set_quantization(const std::string& mode, std::optional<int64_t> block_size = {});
  // For models whose layers change: sets or clears the shapes that the model was built for.
  void set_built(bool built = true, std::vector<Shape> input_shapes = {});
  // Whether build or build_list is running on this thread.
  bool building() const;
  // For handles to the same layer: makes this object share all state of `other`.
  struct Share {};
  Layer(const Layer& other, Share);
  void share(const Layer& other);

 private:
  friend class internal::CallFrame;

  // Tracks one part; the attribute of a container ends in '/'.
  template <class T>
  void track_part(const std::string& attribute, T& thing);
  void track_layer(const std::string& attribute, Layer& layer);
  void track_variable(const std::string& attribute, const Variable& variable);
  void track_metric(std::shared_ptr<MetricImpl> metric);
  void track_state(const Variable& state);
  struct CallTypes {
    std::vector<std::pair<DType, Shape>> types;
    std::vector<std::string> names;  // empty, or one for each type
    MaskTypes masks;                 // one for each type
  };
  CallTypes infer_call(const std::vector<std::pair<DType, Shape>>& inputs,
                       const std::vector<std::string>& input_names, const CallOptions& options,
                       const MaskTypes& input_masks = {});
  void build_once(const std::vector<Shape>& input_shapes, std::vector<std::string> names);
  void require_argument(const std::string& key, const std::vector<std::string>& known) const;
  void check_settings(const CallOptions& options) const;
  Tensors named_by_signature(const Tensors& inputs) const;
  Tensors without_undefined(const Tensors& inputs, CallOptions& options) const;
  Tensors call_on_placeholders(const Tensors& inputs, const CallOptions& options);
  Tensors call_on_values(const Tensors& inputs, const CallOptions& options);
  Tensors call_built(const Tensors& inputs, const CallOptions& options);
  Tensors with_masks(const Tensors& outputs, const Tensors& inputs) const;
  void clear_losses();
  void set_trainable_since(bool trainable, uint64_t when);
  void walk(std::unordered_set<uint64_t>& seen,
            const std::function<void(const Layer&)>& visit) const;
  std::vector<Variable> collect(bool (*wanted)(const Layer&, const Variable&),
                                bool with_state) const;

  std::shared_ptr<internal::LayerState> state_;
};

namespace internal {
template <class>
inline constexpr bool kNever = false;
template <class T>
concept PointsToLayer = requires(T& x) {
  requires std::is_base_of_v<Layer, std::remove_cvref_t<decltype(*x)>>;
};
template <class T>
concept IsMetric = requires(T& x) {
  { x.shared() } -> std::convertible_to<std::shared_ptr<MetricImpl>>;
};
template <class T>
concept IsSeedGenerator = requires(const T& x) {
  { x.state() } -> std::convertible_to<const Variable&>;
  x.next();
};
// True for layers that aren't handles: a tracked temporary of such a type would be lost.
template <class T>
inline constexpr bool kPlainLayer =
    std::is_base_of_v<Layer, T> && !std::is_same_v<T, Model> && !std::is_same_v<T, Sequential>;
}  // namespace internal

namespace internal {

// Rejects methods of T that hide, rather than override, a method of Layer and so would never be
// called.
template <class T>
constexpr void require_layer_hooks() {
  if constexpr (requires { &T::build; }) {
    static_assert(std::is_convertible_v<decltype(&T::build), void (T::*)(const Shape&)>,
                  "build isn't the one of Layer: write `override`");
  }
  if constexpr (requires { &T::build_list; }) {
    static_assert(
        std::is_convertible_v<decltype(&T::build_list), void (T::*)(const std::vector<Shape>&)>,
        "build_list isn't the one of Layer: write `override`");
  }
  if constexpr (requires { &T::call; }) {
    static_assert(
        std::is_convertible_v<decltype(&T::call), Tensor (T::*)(const Tensor&, const CallArgs&)>,
        "call isn't the one of Layer: write `override`");
  }
  if constexpr (requires { &T::call_list; }) {
    static_assert(std::is_convertible_v<decltype(&T::call_list),
                                        Tensors (T::*)(const Tensors&, const CallArgs&)>,
                  "call_list isn't the one of Layer: write `override`");
  }
  if constexpr (requires { &T::get_config; }) {
    static_assert(std::is_convertible_v<decltype(&T::get_config), Json (T::*)() const>,
                  "get_config isn't the one of Layer: write `override`");
  }
  if constexpr (requires { &T::compute_mask; }) {
    static_assert(std::is_convertible_v<decltype(&T::compute_mask),
                                        Tensor (T::*)(const Tensors&, const Tensor&) const>,
                  "compute_mask isn't the one of Layer: write `override`");
  }
}

template <class T>
struct ModelHooks {  // specialized for models in train/model.h
  static constexpr void require() {}
};

template <class T>
constexpr void require_hooks() {
  require_layer_hooks<T>();
  ModelHooks<T>::require();
}

}  // namespace internal

template <class T>
T Layer::track(const std::string& attribute, T&& thing) {
  if constexpr (internal::kPlainLayer<T>) {
    static_assert(internal::kNever<T>,
                  "track: this layer is a temporary. Make it with make_layer<T>(…), or track a "
                  "member: `Linear linear_{32};` and track(linear_) in the constructor's body.");
  } else {
    track_part(attribute, thing);
    return std::forward<T>(thing);
  }
}

// A cheap handle to a shared layer of any class.
class LayerHandle : public Handle<Layer> {
 public:
  LayerHandle() = default;
  LayerHandle(std::shared_ptr<Layer> layer) : Handle(std::move(layer)) {}  // NOLINT: implicit

  Tensors operator()(const Tensors& inputs, const CallOptions& options = {}) const {
    return get()(inputs, options);
  }
  Layer& get() const { return required("LayerHandle", "a layer"); }

  const std::string& name() const { return get().name(); }
  std::string class_name() const { return get().class_name(); }
  bool built() const { return get().built(); }
  // Creates the weights for an input of this shape, as the first call does.
  void build(const Shape& input_shape) const { get().ensure_built({input_shape}); }
  Shape compute_output_shape(const Shape& input_shape) const {
    return get().compute_output_shape(input_shape);
  }
  // See Layer::input.
  Tensors input() const { return get().input(); }
  Tensors output() const { return get().output(); }
  bool trainable() const { return get().trainable(); }
  void set_trainable(bool trainable) const { get().set_trainable(trainable); }
  // See Layer::weight: `dense.weight("kernel")`.
  Variable weight(const std::string& name) const { return get().weight(name); }
  std::vector<Variable> weights() const { return get().weights(); }
  std::vector<Variable> variables() const { return get().variables(); }
  std::vector<Variable> trainable_weights() const { return get().trainable_weights(); }
  std::vector<Variable> trainable_variables() const { return get().trainable_variables(); }
  std::vector<Variable> non_trainable_weights() const { return get().non_trainable_weights(); }
  std::vector<Tensor> get_weights() const { return get().get_weights(); }
  void set_weights(const std::vector<Tensor>& values) const { get().set_weights(values); }
  int64_t count_params() const { return get().count_params(); }
  // See Layer::quantize.
  void quantize(const QuantizeOptions& options) const { get().quantize(options); }
  template <std::convertible_to<std::string> T>
  void quantize(const T& mode) const {
    get().quantize(mode);
  }
  // See Layer::enable_lora: `model.get_layer("query").enable_lora({.rank = 4})`.
  void enable_lora(const LoraOptions& options) const { get().enable_lora(options); }
  // See Layer::flatten_layers.
  std::vector<LayerHandle> flatten_layers() const { return get().flatten_layers(); }
  Json get_config() const { return get().get_config(); }
  std::vector<Tensor> losses() const { return get().losses(); }
  // See Layer::reset_states.
  void reset_states() const { get().reset_states(); }
};

// A handle that knows the concrete class of its layer.
template <class T>
using LayerRef = TypedHandle<LayerHandle, T>;

// Creates a shared layer of a user-defined class, usable wherever a built-in layer is.
template <class T, class... Args>
LayerRef<T> make_layer(Args&&... args) {
  internal::require_hooks<T>();
  return LayerRef<T>(std::make_shared<T>(std::forward<Args>(args)...));
}

template <class T>
void Layer::track_part(const std::string& attribute, T& thing) {
  const std::string part =
      attribute.empty() || attribute.back() == '/' ? attribute : attribute + '/';
  if constexpr (std::is_same_v<std::remove_cv_t<T>, Variable>) {
    track_variable(attribute, thing);
  } else if constexpr (std::is_base_of_v<Layer, T>) {
    internal::require_hooks<std::remove_cv_t<T>>();
    track_layer(attribute, const_cast<std::remove_cv_t<T>&>(thing));
  } else if constexpr (std::is_base_of_v<LayerHandle, T>) {
    track_layer(attribute, thing.get());
  } else if constexpr (internal::PointsToLayer<T>) {
    check<InvalidArgument>(static_cast<bool>(thing), "track '{}': expected a layer, got none.",
                           attribute);
    track_layer(attribute, *thing);
  } else if constexpr (internal::IsMetric<T>) {
    track_metric(thing.shared());
  } else if constexpr (internal::IsSeedGenerator<T>) {
    track_state(thing.state());
  } else if constexpr (requires { thing.begin()->second; }) {
    for (auto& [key, value] : thing) track_part(part, value);
  } else if constexpr (requires { std::begin(thing); }) {
    for (auto& element : thing) track_part(part, element);
  } else {
    static_assert(internal::kNever<T>,
                  "track takes layers (built-in ones, those of make_layer, members that are "
                  "layers), containers of them, metrics, seed generators, and variables.");
  }
}

// The training flag of the innermost layer call in progress.
std::optional<bool> current_training();

// Returns names that are unique in this process, numbered as in Keras: "dense", then "dense_1", …
std::string unique_name(const std::string& prefix);
// Restarts the numbering of unique names (keras.utils.clear_session).
void clear_session();

}  // namespace cornu
