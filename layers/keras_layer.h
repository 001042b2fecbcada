// SPDX-License-Identifier: Apache-2.0
// The base class of the layers behind the handles of layers/, and helpers. Internal: included by
// layers' .cc files.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/layer.h"
#include "framework/model/serialized.h"
#include "layers/argument_types.h"

namespace cornu {

// ---- conversion of options to and from configs, for serialized.h ----

inline Json config_value(const Initializer& value) { return serialize(value); }
inline Json config_value(const Regularizer& value) { return serialize(value); }
inline Json config_value(const Constraint& value) { return serialize(value); }
inline Json config_value(const Activation& value) { return serialize(value); }
inline Json config_value(const OptionalShape& value) { return value ? Json(*value) : Json(); }
inline Json config_value(const DTypeName& value) {
  return value.empty() ? Json() : Json(std::string(value));
}
inline Json config_value(const Json& value) { return value; }
inline void set_from_config(const Json& json, Json& value) { value = json; }
// Numbers as nested lists, null for None.
Json config_value(const Tensor& numbers);
void set_from_config(const Json& json, Tensor& numbers);
inline void set_from_config(const Json& json, Initializer& value) {
  value = initializer_from_json(json);
}
inline void set_from_config(const Json& json, Regularizer& value) {
  value = regularizer_from_json(json);
}
inline void set_from_config(const Json& json, Constraint& value) {
  value = constraint_from_json(json);
}
inline void set_from_config(const Json& json, Activation& value) {
  value = activation_from_json(json);
}
inline void set_from_config(const Json& json, DTypeName& value) {
  value = json.is_null() ? DTypeName() : DTypeName(json.as_string());
}
inline void set_from_config(const Json& json, Shape& value) { value = json.as_shape(); }
inline void set_from_config(const Json& json, OptionalShape& value) {
  value = json.is_null() ? OptionalShape() : OptionalShape(json.as_shape());
}

namespace layers {

template <int kAxes>
Json config_value(const Size<kAxes>& value) {
  return value.given() ? Json(value.values()) : Json();
}
template <int kAxes>
void set_from_config(const Json& json, Size<kAxes>& value) {
  value = Size<kAxes>::from_json(json);
}
template <class T>
Json config_value(const OneOrMany<T>& value) {
  return value.to_json();
}
template <class T>
void set_from_config(const Json& json, OneOrMany<T>& value) {
  value = OneOrMany<T>::from_json(json);
}
inline Json config_value(const PartialShape& value) { return value.to_json(); }
inline void set_from_config(const Json& json, PartialShape& value) {
  value = PartialShape::from_json(json);
}
Json config_value(const Margins2& value);
void set_from_config(const Json& json, Margins2& value);
Json config_value(const Margins3& value);
void set_from_config(const Json& json, Margins3& value);

// A key in Keras's config for an unsupported feature: it is written with the value that disables
// the feature, and any other value in a config throws Unimplemented.
struct AbsentFeature {
  const char* key;
  Json off;
};
inline Json config_value(const AbsentFeature& feature) { return feature.off; }
void set_from_config(const Json& json, AbsentFeature& feature);
template <class Fields>
void absent_field(Fields& fields, const char* key, Json off) {
  AbsentFeature feature{key, std::move(off)};
  fields(key, feature);
}

// Reads a layer's options from its config. `visit_fields` of the options lists all fields except
// those of the base class.
template <class Options>
Options read_layer_options(const Json& config) {
  Options options = read_options<Options>(config);
  const LayerOptions base = LayerOptions::from_config(config);
  options.name = base.name;
  if (config.find("dtype")) options.dtype = base.dtype;
  if constexpr (requires { options.trainable; }) options.trainable = base.trainable;
  if constexpr (requires { options.activity_regularizer; }) {
    options.activity_regularizer = base.activity_regularizer;
  } else {
    check<Unimplemented>(!base.activity_regularizer,
                         "Config: '{}': an activity_regularizer isn't available for this layer. "
                         "Give it to a layer of its own, ActivityRegularization, in Keras.",
                         options.name);
  }
  return options;
}

template <class Options>
LayerOptions base_options(const Options& options) {
  LayerOptions base{.name = options.name, .dtype = options.dtype};
  if constexpr (requires { options.trainable; }) base.trainable = options.trainable;
  if constexpr (requires { options.activity_regularizer; }) {
    base.activity_regularizer = options.activity_regularizer;
  }
  return base;
}

// Base class of Keras's layers. A layer gets its name on construction, so that names are numbered
// in that order.
class KerasLayer : public Layer {
 public:
  std::string class_name() const override { return class_name_; }
  Json module() const override { return "keras.layers"; }
  void build_list(const std::vector<Shape>& input_shapes) override;
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  bool autocasts_variables() const override { return false; }  // `compute` casts

 protected:
  KerasLayer(std::string class_name, const LayerOptions& options);

  // Throws InvalidArgument unless the layer accepts an input of this shape, which may have unknown
  // axes. Called before build and before each call.
  virtual void check_input(const Shape&) const {}

  // The prefix of errors: "Dense 'dense'".
  virtual std::string label() const;
  // Throws InvalidArgument unless `ok`.
  template <class... Args>
  void require(bool ok, fmt::format_string<Args...> format, Args&&... args) const {
    if (!ok) [[unlikely]]
      raise<InvalidArgument>("{}: {}", label(), fmt::format(format, std::forward<Args>(args)...));
  }
  // Returns the size of an axis that the weights' shapes depend on; it must be known.
  int64_t known_axis(const Shape& shape, int64_t axis) const;
  // Checks that an axis of a later input has the size for which the weights were created.
  void require_axis(const Shape& shape, int64_t axis, int64_t size) const;

  // Returns a boolean setting of the call, false if not given. Throws InvalidArgument for other
  // values.
  bool flag(const CallArgs& args, const char* key) const;

  // Returns a weight in the layer's compute dtype.
  Tensor compute(const Variable& weight) const;

 private:
  std::string class_name_;
};

// The layer behind a handle that is known to be of class T.
template <class T>
T& layer_of(const LayerHandle& handle) {
  return static_cast<T&>(handle.get());
}

// As above for any handle. Throws InvalidArgument unless its layer is a T; errors use `class_name`.
template <class T>
std::shared_ptr<T> require_class(const LayerHandle& handle, const char* class_name) {
  auto layer = std::dynamic_pointer_cast<T>(handle.shared());
  check<InvalidArgument>(layer != nullptr, "{}::of: expected a layer of this class, got {} '{}'.",
                         class_name, handle.get().class_name(), handle.name());
  return layer;
}

// A KerasLayer whose config consists of its options.
template <class Options>
class KerasLayerOf : public KerasLayer {
 public:
  Json get_config() const override {
    Json config = Layer::get_config();
    write_options(config, options_);
    return config;
  }

 protected:
  KerasLayerOf(std::string class_name, const Options& options)
      : KerasLayer(std::move(class_name), base_options(options)), options_(options) {}

  Options options_;
};

}  // namespace layers
}  // namespace cornu
