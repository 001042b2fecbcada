// SPDX-License-Identifier: Apache-2.0
// Layers: the base class, and the handles that built-in layers are.
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

// What a caller may give beside the inputs.
struct CallOptions {
  std::optional<bool> training = {};  // None: as the caller was told, else training_by_default()
  // Bool, for each input (undefined: none); of arguments with names the last ones may lack theirs.
  // They take the place of the masks that ride on the inputs.
  Tensors mask = {};
  // Arguments that are no tensors, where the layer has some (Layer::call_signature):
  // {"use_causal_mask": true}. Null: none.
  Json settings = {};
};

// The arguments that a layer's call takes beside `training` and `mask`, by Keras's names.
struct CallSignature {
  // The inputs, each an argument of its own, in order ("query", "value"); inputs beyond these
  // belong to the last, which is a list then. Empty: all inputs are Keras's first argument.
  std::vector<std::string> inputs = {};
  std::vector<std::string> settings = {};
  size_t built = 0;  // so many of the inputs, from the first, are what Keras's build takes
};

// What `call` gets beside the inputs, with every option decided.
struct CallArgs {
  bool training = false;
  Tensor mask = {};         // the mask that rides on the only input, if any
  bool mask_given = false;  // masks are the call's; they don't come from what made the inputs
  Json settings = {};       // as in CallOptions
  // So that `dense_(x, args)` passes on what it was told. Masks ride on tensors: x has its own.
  operator CallOptions() const { return {.training = training}; }  // NOLINT: implicit on purpose
};

// Arguments of add_weight, in Keras's order.
struct WeightOptions {
  Shape shape = {};
  Initializer initializer = {};         // None: glorot_uniform for floats, zeros otherwise
  std::optional<DTypeLike> dtype = {};  // None: the layer's variable dtype
  bool trainable = true;
  Regularizer regularizer = {};
  Constraint constraint = {};
  VariableAggregation aggregation = VariableAggregation::None;
  bool sparse_gradients = false;  // as in VariableOptions
  std::string name = "variable";
};

// Base-layer arguments, last in every layer's options.
struct LayerOptions {
  std::string name = {};  // empty: snake_case of the class, made unique ("dense", "dense_1", …)
  DTypeName dtype = {};   // "float32", DType::Float32, "mixed_bfloat16", …; empty: dtype_policy()
  bool trainable = true;
  Regularizer activity_regularizer = {};

  // Those that Layer::get_config() wrote, or Keras's; the defaults for what isn't there.
  static LayerOptions from_config(const Json& config);
};

// Dtypes and shapes of masks, by tensor; none for one without a mask.
using MaskTypes = std::vector<std::optional<std::pair<DType, Shape>>>;

// Compute and variable dtypes ("mixed_bfloat16" computes in bfloat16 on float32 variables), and how
// weights are quantized ("int8_from_mixed_bfloat16", "int4/128_from_float32").
struct DTypePolicy {
  DType compute = DType::Float32;
  DType variable = DType::Float32;
  std::string quantization_mode = {};      // "int8", "int4"; empty: not at all
  std::optional<int64_t> block_size = {};  // of "int4/128_from_float32"; -1, none: no blocks
  // InvalidArgument with the nearest known name, for int8 from a policy that computes in float16,
  // and for a block size that is neither > 0 nor -1; Unimplemented for Keras's other modes of
  // quantization.
  static DTypePolicy parse(const std::string& name);
  std::string name() const;
};

// A unit of computation with weights. Subclass it: create weights in `build`, compute in `call`.
// Objects can't be copied; make shared ones with make_layer<T>(…).
//
// Layers that it calls are its sub-layers: their weights and losses are its own. Those that it
// calls in its first call (in `build` or `call`) become so by themselves; track(…) does it at once,
// gives the name in files, and is needed for layers that the first call skips: FailedPrecondition
// when a later call uses a layer with weights that wasn't tracked.
//
// Threads: calls of a built layer may run on several threads at once, as long as none of them
// writes variables; the first call of a layer is made by one thread while others wait.
class Layer : public std::enable_shared_from_this<Layer> {
 public:
  explicit Layer(const LayerOptions& options = {});
  virtual ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // Builds the layer when it isn't, and calls it. On placeholders (of Input, as inputs or masks) it
  // records a node of a functional graph and returns placeholders; FailedPrecondition then if the
  // layer isn't owned by a handle. Errors from within name the layer.
  Tensors operator()(const Tensors& inputs, const CallOptions& options = {});

  // ---- to override ----

  // Creates the weights for one input of this shape (kUnknown for unknown axes).
  virtual void build(const Shape& input_shape);
  // The same for several inputs; by default build() with the shape of the first.
  virtual void build_list(const std::vector<Shape>& input_shapes);
  // The layer's function of one input; of several ones: call_list.
  virtual Tensor call(const Tensor& x, const CallArgs& args);
  virtual Tensors call_list(const Tensors& inputs, const CallArgs& args);
  // Keras's class name; for users' classes the C++ one.
  virtual std::string class_name() const;
  // Keras's get_config(). Subclasses add to the base's: name, trainable, dtype, and the activity
  // regularizer where there is one.
  virtual Json get_config() const;
  // The config's module in files: "keras.layers"; null for classes outside of Keras.
  virtual Json module() const;
  // Whether floating inputs are cast to compute_dtype() before the call (default: true).
  virtual bool autocast() const { return true; }
  // What `training` is where nobody says, neither who calls the layer nor those around it (default:
  // false; true of Keras's augmentation layers).
  virtual bool training_by_default() const { return false; }
  // Whether a mask on the input is passed on to the output (default: false).
  virtual bool supports_masking() const { return false; }
  // Whether a RematScope is for its call as a whole (default: true; models leave it to their
  // layers).
  virtual bool is_remat_region() const { return true; }
  // The mask of the outputs; by default the input's where supports_masking(), else none. Of several
  // inputs `mask` is the first one's; where it is handed on, each output gets that of the input at
  // its place. An output that call gives a mask of its own (with_mask) keeps that.
  virtual Tensor compute_mask(const Tensors& inputs, const Tensor& mask) const;
  // The handle that functional graphs keep of this layer; null when no handle owns it.
  virtual std::shared_ptr<Layer> shared_self() { return weak_from_this().lock(); }
  // Sub-layers that aren't tracked by attribute, with the names their weights are saved under.
  using NamedLayers = std::vector<std::pair<std::string, std::shared_ptr<Layer>>>;
  virtual NamedLayers sublayers() const;
  // The list that files keep under "layers": all layers of a model. None for other layers, whose
  // sub-layers are kept by attribute alone.
  virtual std::optional<std::vector<std::shared_ptr<Layer>>> saved_list() const { return {}; }
  // The call's arguments. Where they name inputs, build_list (by build_names()) and call_list find
  // these names on all inputs; callers may give them by name or in order.
  virtual const CallSignature& call_signature() const;

  // ---- state ----

  const std::string& name() const;
  bool built() const;
  bool trainable() const;
  // And all sub-layers'. A layer that isn't trainable has no trainable weights, whatever its
  // sub-layers are set to later (Keras's rule).
  void set_trainable(bool trainable);
  const DTypePolicy& dtype_policy() const;
  DType compute_dtype() const { return dtype_policy().compute; }
  DType variable_dtype() const { return dtype_policy().variable; }
  const Regularizer& activity_regularizer() const;

  // Own weights, then those of sub-layers; trainable ones first in weights(), as Keras orders them
  // layer by layer.
  std::vector<Variable> weights() const;
  std::vector<Variable> trainable_weights() const;
  std::vector<Variable> non_trainable_weights() const;
  // weights() and what isn't a weight: seed generators' states.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const { return trainable_weights(); }
  std::vector<Variable> non_trainable_variables() const;
  const std::vector<Variable>& own_weights() const;
  // The same as Keras orders them: those that were made to be trained, whatever they were set to
  // since, then the others.
  std::vector<Variable> own_weights_in_order() const;
  const std::vector<Variable>& own_state() const;  // seed generators
  // The weight of its own that add_weight named so ("kernel"). FailedPrecondition before it is
  // built, NotFound with the nearest known name.
  Variable weight(const std::string& name) const;
  // Sub-layers by attribute: tracked ones, then those found by calls.
  NamedLayers tracked() const;
  // Metrics that this layer tracks, without those of sub-layers.
  const std::vector<std::shared_ptr<MetricImpl>>& tracked_metrics() const;

  std::vector<Tensor> get_weights() const;  // copies
  // InvalidArgument, naming the weight, when counts or shapes differ.
  void set_weights(const std::vector<Tensor>& values);
  int64_t count_params() const;

  // Replaces weights by int8 or int4 ones with scales, and the dtype policy by "int8_from_…" or
  // "int4/128_from_…", as keras.Layer.quantize does: of Dense, EinsumDense, Embedding and
  // ReversibleEmbedding; a Model does it with all such layers. These weights aren't trained; LoRA
  // may adapt them. What was traced before goes on with the weights that it has. Not while other
  // threads call the layer. FailedPrecondition before it is built, in a traced function, and where
  // that was done already; Unimplemented for other layers and modes than "int8" and "int4";
  // InvalidArgument for int8 in a layer that computes in float16.
  virtual void quantize(const QuantizeOptions& options);
  template <std::convertible_to<std::string> T>
  void quantize(const T& mode) {
    quantize(QuantizeOptions{.mode = mode});
  }

  // Losses added in this thread's last call (add_loss, activity regularizers, divided by the batch
  // size) and by weight regularizers, sub-layers' included.
  std::vector<Tensor> losses() const;

  // Zeros what stateful recurrent layers, this one or those within, keep from call to call:
  // `model.reset_states()` before a new sequence. Reference: tf.keras.Model.reset_states.
  void reset_states() const;

  // Builds for these input shapes if that wasn't done: what operator() does first. `names`: of the
  // inputs, where the layer's call has arguments; without, they are in order.
  void ensure_built(const std::vector<Shape>& input_shapes, std::vector<std::string> names = {});
  // Shapes that the layer was built with, and names where its call has arguments; empty before.
  const std::vector<Shape>& built_shapes() const;
  const std::vector<std::string>& built_names() const;
  // Output types for input types that may have unknown axes. `names`: of the inputs, where they
  // have some.
  std::vector<std::pair<DType, Shape>> compute_output_types(
      const std::vector<std::pair<DType, Shape>>& inputs, const CallOptions& options = {},
      const std::vector<std::string>& names = {});
  Shape compute_output_shape(const Shape& input_shape, DTypeLike dtype = DType::Float32);

  // The placeholders of the layer's first call on placeholders: what a functional model that has
  // the layer reads and makes there. FailedPrecondition when there was no such call.
  virtual Tensors input() const;
  virtual Tensors output() const;
  // For functional graphs: numbers a layer's calls on placeholders, and remembers them.
  int64_t add_node(const std::shared_ptr<KerasNode>& node);

 protected:
  // Creates a weight, or a piece of state when not trainable. For use in build (or a constructor).
  Variable add_weight(const WeightOptions& options);
  // State that isn't a weight (doesn't count as a parameter), as a seed generator's. OnRead: what
  // follows from a replica's own rows, which others' may differ from.
  Variable add_state(const std::string& name, const Tensor& initial_value,
                     VariableSynchronization synchronization = VariableSynchronization::Auto);
  // Adds a scalar to losses() during call.
  void add_loss(const Tensor& loss);

  // Makes `thing` a part of this layer, and returns it: a layer (built-in, of make_layer, or a
  // member that is one), a container of layers (vector, array, map, of layers or of pointers to
  // them), a metric, a random::SeedGenerator (its state is among variables(), not among weights, as
  // in Keras); with a name also a variable. Weights are saved under the attribute's name, of
  // containers as "attribute/dense", "attribute/dense_1"; without one, under the snake_case of
  // their class, numbered. AlreadyExists for a name that is taken. For use in a constructor or in
  // build.
  //   Mlp() : dense_(track(layers::Dense({.units = 8}))) { track("blocks", blocks_); }
  template <class T>
  T track(T&& thing) {
    return track<T>("", std::forward<T>(thing));
  }
  template <class T>
  T track(const std::string& attribute, T&& thing);

  void set_name(std::string name);
  // What reset_states does to this layer, apart from those within.
  virtual void zero_states() const {}
  // For layers whose weights change after they are built: takes one away, with its regularizer, and
  // says how those that took its place are quantized.
  void remove_weight(const Variable& weight);
  void set_quantization(const std::string& mode, std::optional<int64_t> block_size = {});
  // For models whose layers change: what they were built for, or none.
  void set_built(bool built = true, std::vector<Shape> input_shapes = {});
  // Whether build or build_list runs, on this thread.
  bool building() const;
  // Handles on one layer: makes this one share all that belongs to `other`.
  struct Share {};
  Layer(const Layer& other, Share);
  void share(const Layer& other);

 private:
  friend class internal::CallFrame;

  // One part; a container's attribute ends in '/'.
  template <class T>
  void track_part(const std::string& attribute, T& thing);
  void track_layer(const std::string& attribute, Layer& layer);
  void track_variable(const std::string& attribute, const Variable& variable);
  void track_metric(std::shared_ptr<MetricImpl> metric);
  void track_state(const Variable& state);
  struct CallTypes {
    std::vector<std::pair<DType, Shape>> types;
    std::vector<std::string> names;  // none, or one each
    MaskTypes masks;                 // one each
  };
  CallTypes infer_call(const std::vector<std::pair<DType, Shape>>& inputs,
                       const std::vector<std::string>& input_names, const CallOptions& options,
                       const MaskTypes& input_masks = {});
  void build_once(const std::vector<Shape>& input_shapes, std::vector<std::string> names);
  void require_argument(const std::string& key, const std::vector<std::string>& known) const;
  void check_settings(const CallOptions& options) const;
  Tensors named_by_signature(const Tensors& inputs) const;
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
// A layer that isn't a handle: tracking one that is about to go away would lose it.
template <class T>
inline constexpr bool kPlainLayer =
    std::is_base_of_v<Layer, T> && !std::is_same_v<T, Model> && !std::is_same_v<T, Sequential>;
}  // namespace internal

namespace internal {

// Methods of T that have the name of one of Layer's, but hide it in place of overriding it, would
// never be called.
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
struct ModelHooks {  // of models: train/model.h
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

// A cheap handle on a shared layer of any class.
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
  // Makes the weights for an input of this shape: what the first call does.
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
  Json get_config() const { return get().get_config(); }
  std::vector<Tensor> losses() const { return get().losses(); }
  // See Layer::reset_states.
  void reset_states() const { get().reset_states(); }
};

// A handle that knows the class of its layer.
template <class T>
using LayerRef = TypedHandle<LayerHandle, T>;

// Makes a shared layer of a user's class, to be used anywhere a built-in one can.
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

// The training flag that the innermost layer call in progress was given.
std::optional<bool> current_training();

// "dense", then "dense_1", …: names of this process as Keras makes them unique.
std::string unique_name(const std::string& prefix);
// Starts names anew (keras.utils.clear_session).
void clear_session();

}  // namespace cornu
