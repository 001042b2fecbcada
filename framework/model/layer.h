// SPDX-License-Identifier: Apache-2.0
// Layers: the base class, and the handles that built-in layers are.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "cornu/core/json.h"
#include "cornu/core/tensors.h"
#include "cornu/core/variable.h"
#include "cornu/model/parts.h"

namespace cornu {

class Layer;
class LayerHandle;
class Metric;  // of train/metric.h: a layer only keeps those that it tracks
class MetricImpl;

// What a layer is told besides its inputs. `training` unset: as the caller was told, else false.
struct CallArgs {
  std::optional<bool> training = {};
  Tensor mask = {};  // bool; overrides the mask that rides on the input
};

// Arguments of add_weight, in Keras's order.
struct WeightOptions {
  Shape shape = {};
  Initializer initializer = {};     // None: glorot_uniform for floats, zeros otherwise
  std::optional<DType> dtype = {};  // None: the layer's variable dtype
  bool trainable = true;
  Regularizer regularizer = {};
  Constraint constraint = {};
  VariableAggregation aggregation = VariableAggregation::None;
  std::string name = "variable";
};

// Base-layer arguments, last in every layer's options.
struct LayerOptions {
  std::string name = {};   // empty: snake_case of the class, made unique ("dense", "dense_1", …)
  std::string dtype = {};  // "float32", "mixed_bfloat16", …; empty: float32
  bool trainable = true;
  Regularizer activity_regularizer = {};
};

// Compute and variable dtypes ("mixed_bfloat16" computes in bfloat16 on float32 variables).
struct DTypePolicy {
  DType compute = DType::Float32;
  DType variable = DType::Float32;
  // InvalidArgument with the nearest known name.
  static DTypePolicy parse(const std::string& name);
  std::string name() const;
};

// A unit of computation with weights. Subclass it: create weights in `build`, compute in `call`.
// Objects can't be copied; make shared ones with make_layer<T>(…), and name sub-layers with
// track(…) in the constructor's initializers, so that their weights are found.
// Not thread-safe.
class Layer : public std::enable_shared_from_this<Layer> {
 public:
  explicit Layer(const LayerOptions& options = {});
  virtual ~Layer();
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  // Builds the layer when it isn't, and calls it. On placeholders (of Input) it records a node of a
  // functional graph and returns placeholders; FailedPrecondition then if the layer isn't owned by
  // a handle. Errors from within name the layer.
  Tensors operator()(const Tensors& inputs, const CallArgs& args = {});

  // ---- to override ----

  // Creates the weights for one input of this shape (kUnknown for unknown axes).
  virtual void build(const Shape& input_shape);
  // The same for several inputs; by default InvalidArgument unless there is one.
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
  // Whether a mask on the input is passed on to the output (default: false).
  virtual bool supports_masking() const { return false; }
  // The mask of the outputs; by default the input's where supports_masking(), else none.
  virtual Tensor compute_mask(const Tensors& inputs, const Tensor& mask) const;
  // The handle that functional graphs keep of this layer; null when no handle owns it.
  virtual std::shared_ptr<Layer> shared_self() { return weak_from_this().lock(); }
  // Sub-layers that aren't tracked by attribute, with the names their weights are saved under.
  using NamedLayers = std::vector<std::pair<std::string, std::shared_ptr<Layer>>>;
  virtual NamedLayers sublayers() const;
  // The list that files keep under "layers": all layers of a model. None for other layers, whose
  // sub-layers are kept by attribute alone.
  virtual std::optional<std::vector<std::shared_ptr<Layer>>> saved_list() const { return {}; }
  // Whether several inputs are several arguments of Keras's call (query, value) instead of a list.
  virtual bool takes_separate_inputs() const { return false; }

  // ---- state ----

  const std::string& name() const;
  bool built() const { return built_; }
  bool trainable() const { return trainable_; }
  void set_trainable(bool trainable);  // and all sub-layers'
  const DTypePolicy& dtype_policy() const { return policy_; }
  DType compute_dtype() const { return policy_.compute; }
  DType variable_dtype() const { return policy_.variable; }
  const Regularizer& activity_regularizer() const { return activity_regularizer_; }

  // Own weights, then those of sub-layers; trainable ones first in weights(), as Keras orders them
  // layer by layer.
  std::vector<Variable> weights() const;
  std::vector<Variable> trainable_weights() const;
  std::vector<Variable> non_trainable_weights() const;
  // weights() and what isn't a weight: seed generators' states.
  std::vector<Variable> variables() const;
  std::vector<Variable> trainable_variables() const { return trainable_weights(); }
  std::vector<Variable> non_trainable_variables() const;
  const std::vector<Variable>& own_weights() const { return own_weights_; }
  const std::vector<Variable>& own_state() const { return own_state_; }  // seed generators
  // Sub-layers by attribute, as track() named them.
  const NamedLayers& tracked() const { return tracked_; }
  const std::vector<std::shared_ptr<MetricImpl>>& tracked_metrics() const {
    return tracked_metrics_;
  }

  std::vector<Tensor> get_weights() const;  // copies
  // InvalidArgument, naming the weight, when counts or shapes differ.
  void set_weights(const std::vector<Tensor>& values);
  int64_t count_params() const;

  // Losses added in the last call (add_loss, activity regularizers, divided by the batch size) and
  // by weight regularizers, sub-layers' included.
  std::vector<Tensor> losses() const;

  // Builds for these input shapes if that wasn't done: what operator() does first.
  void ensure_built(const std::vector<Shape>& input_shapes);
  // Shapes that the layer was built with; empty before.
  const std::vector<Shape>& built_shapes() const { return built_shapes_; }
  // Output types for input types that may have unknown axes.
  std::vector<std::pair<DType, Shape>> compute_output_types(
      const std::vector<std::pair<DType, Shape>>& inputs, const CallArgs& args = {});
  Shape compute_output_shape(const Shape& input_shape, DType dtype = DType::Float32);
  // For functional graphs, which number a layer's calls on placeholders.
  int64_t next_node_index() { return nodes_made_++; }

 protected:
  // Creates a weight, or a piece of state when not trainable. For use in build (or a constructor).
  Variable add_weight(const WeightOptions& options);
  // State that isn't a weight (doesn't count as a parameter), as a seed generator's.
  Variable add_state(const std::string& name, const Tensor& initial_value);
  // Adds a scalar to losses() during call.
  void add_loss(const Tensor& loss);

  // Makes a sub-layer's weights this layer's, saved under the attribute's name; without one, under
  // the snake_case of its class, numbered.
  template <class Handle>
  Handle track(Handle layer) {
    track_handle("", layer);
    return layer;
  }
  template <class Handle>
  Handle track(const std::string& attribute, Handle layer) {
    track_handle(attribute, layer);
    return layer;
  }
  Variable track(const std::string& attribute, const Variable& variable);
  // Makes a metric one of the model's: it is in metrics(), and reset with them.
  template <class Handle>
  requires std::is_base_of_v<Metric, Handle> Handle track(Handle metric) {
    tracked_metrics_.push_back(metric.shared());
    return metric;
  }

  void set_name(std::string name) { name_ = std::move(name); }
  void set_built() { built_ = true; }

 private:
  struct WeightRegularizer {
    Variable variable;
    Regularizer regularizer;
  };
  void track_handle(const std::string& attribute, const LayerHandle& layer);
  Tensors call_on_placeholders(const Tensors& inputs, const CallArgs& args);
  Tensors call_on_values(const Tensors& inputs, const CallArgs& args);
  void clear_losses();
  void collect(std::vector<Variable>& out, bool (*wanted)(const Layer&, const Variable&),
               bool with_state) const;

  mutable std::string name_;
  bool trainable_;
  DTypePolicy policy_;
  Regularizer activity_regularizer_;
  bool built_ = false;
  int64_t nodes_made_ = 0;
  std::vector<Shape> built_shapes_;
  std::vector<Variable> own_weights_;
  std::vector<Variable> own_state_;
  std::vector<WeightRegularizer> regularizers_;
  NamedLayers tracked_;
  std::vector<std::shared_ptr<MetricImpl>> tracked_metrics_;
  std::vector<Tensor> call_losses_;
};

// A cheap handle on a shared layer of any class.
class LayerHandle {
 public:
  LayerHandle() = default;
  LayerHandle(std::shared_ptr<Layer> layer) : layer_(std::move(layer)) {}  // NOLINT: implicit

  Tensors operator()(const Tensors& inputs, const CallArgs& args = {}) const {
    return get()(inputs, args);
  }
  Layer& get() const {
    check<FailedPrecondition>(layer_ != nullptr, "LayerHandle: expected a layer, got none.");
    return *layer_;
  }
  const std::shared_ptr<Layer>& pointer() const { return layer_; }
  explicit operator bool() const { return layer_ != nullptr; }

  const std::string& name() const { return get().name(); }
  bool trainable() const { return get().trainable(); }
  void set_trainable(bool trainable) const { get().set_trainable(trainable); }
  std::vector<Variable> weights() const { return get().weights(); }
  std::vector<Variable> trainable_weights() const { return get().trainable_weights(); }
  std::vector<Variable> trainable_variables() const { return get().trainable_variables(); }
  std::vector<Variable> non_trainable_weights() const { return get().non_trainable_weights(); }
  std::vector<Tensor> get_weights() const { return get().get_weights(); }
  void set_weights(const std::vector<Tensor>& values) const { get().set_weights(values); }
  int64_t count_params() const { return get().count_params(); }
  Json get_config() const { return get().get_config(); }
  std::vector<Tensor> losses() const { return get().losses(); }

 private:
  std::shared_ptr<Layer> layer_;
};

// A handle that knows the class of its layer.
template <class T>
class LayerRef : public LayerHandle {
 public:
  LayerRef() = default;
  explicit LayerRef(std::shared_ptr<T> layer) : LayerHandle(layer), typed_(layer.get()) {}
  T* operator->() const { return typed_; }
  T& operator*() const { return *typed_; }

 private:
  T* typed_ = nullptr;
};

// Makes a shared layer of a user's class, to be used anywhere a built-in one can.
template <class T, class... Args>
LayerRef<T> make_layer(Args&&... args) {
  return LayerRef<T>(std::make_shared<T>(std::forward<Args>(args)...));
}

// The training flag that the innermost layer call in progress was given.
std::optional<bool> current_training();

// "dense", then "dense_1", …: names of this process as Keras makes them unique.
std::string unique_name(const std::string& prefix);
// Starts names anew (keras.utils.clear_session).
void clear_session();

}  // namespace cornu
