// SPDX-License-Identifier: Apache-2.0
// Interfaces of the objects named by options such as `.kernel_initializer = "he_normal"`. The
// classes are in initializers.h, regularizers.h, constraints.h, quantizers.h and activations.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "framework/core/handle.h"
#include "framework/core/json.h"
#include "framework/core/optional_list.h"
#include "framework/core/registry.h"
#include "framework/core/strings.h"
#include "framework/core/tensor.h"

namespace cornu {

// A shared, immutable object with a Keras class name and config; null represents None.
class Configurable {
 public:
  virtual ~Configurable() = default;
  virtual std::string class_name() const = 0;  // "GlorotUniform"
  virtual Json get_config() const { return Json::object(); }
};

// Creates a variable's initial value. Runs eagerly, never under a trace.
class InitializerImpl : public Configurable {
 public:
  static constexpr const char* kKind = "initializer";
  virtual Tensor operator()(const Shape& shape, DType dtype) const = 0;
};

// A penalty on a weight or activity: returns a scalar of the tensor's dtype. Implemented with ops.
class RegularizerImpl : public Configurable {
 public:
  static constexpr const char* kKind = "regularizer";
  virtual Tensor operator()(const Tensor& x) const = 0;
};

// Projects a weight onto an allowed set after each update. Implemented with ops.
class ConstraintImpl : public Configurable {
 public:
  static constexpr const char* kKind = "constraint";
  virtual Tensor operator()(const Tensor& weight) const = 0;
};

class Layer;

// An elementwise (or softmax-like) function. A user's callable has no name and can't be saved.
class ActivationImpl {
 public:
  std::string name;  // Keras's name, e.g. "relu"
  std::function<Tensor(const Tensor&)> function;
  std::shared_ptr<Layer> layer = {};  // set if `function` calls this layer; no name then
};

// A quantized tensor x, approximately values / scale.
struct Quantized {
  Tensor values;  // integers, of x's shape
  Tensor scale;   // of x's dtype; size 1 along the axes that share a scale
};

// Quantizes numbers to integers with scales. Implemented with ops.
class QuantizerImpl : public Configurable {
 public:
  static constexpr const char* kKind = "quantizer";
  // `axis`: the axes whose elements share a scale; None: the quantizer's default.
  virtual Quantized operator()(const Tensor& x, const OptionalList<int64_t>& axis) const = 0;
};

// A user's function, as opposed to an object of another kind.
template <class F, class Result, class... Arguments>
concept PartFunction =
    std::is_invocable_r_v<Result, F, Arguments...> && !std::is_base_of_v<Configurable, F>;

// The value of an option: a name (resolved immediately; an unknown one throws InvalidArgument with
// the nearest known name, as does a null `const char*`), an object, a user's function (which can't
// be saved), or None ({} or nullptr). A cheap handle: copies share the object.
template <class Impl, class... Arguments>
class Part : public Handle<const Impl> {
  using Base = Handle<const Impl>;
  using Result = std::invoke_result_t<const Impl&, Arguments...>;

 public:
  Part() = default;
  Part(std::nullptr_t) {}  // NOLINT: implicit on purpose
  Part(const char* name) : Part(std::string(given_text(name, Impl::kKind))) {}  // NOLINT
  Part(const std::string& name) : Base(from_name(name)) {}                      // NOLINT
  template <class T>
  requires std::is_base_of_v<Impl, T> Part(T object)  // NOLINT
      : Base(std::make_shared<const T>(std::move(object))) {}
  template <class F>
  requires PartFunction<F, Result, Arguments...> Part(F function)  // NOLINT
      : Base(std::make_shared<const OfFunction>(std::move(function))) {}
  explicit Part(std::shared_ptr<const Impl> impl) : Base(std::move(impl)) {}

  const Impl& operator*() const { return *this->impl_; }
  const Impl* operator->() const { return this->impl_.get(); }

 private:
  class OfFunction : public Impl {
   public:
    explicit OfFunction(std::function<Result(Arguments...)> function)
        : function_(std::move(function)) {}
    Result operator()(Arguments... arguments) const override { return function_(arguments...); }
    std::string class_name() const override { return ""; }

   private:
    std::function<Result(Arguments...)> function_;
  };
  static std::shared_ptr<const Impl> from_name(const std::string& name);
};

using Initializer = Part<InitializerImpl, const Shape&, DType>;
using Regularizer = Part<RegularizerImpl, const Tensor&>;
using Constraint = Part<ConstraintImpl, const Tensor&>;
using Quantizer = Part<QuantizerImpl, const Tensor&, const OptionalList<int64_t>&>;
template <>
std::shared_ptr<const InitializerImpl> Initializer::from_name(const std::string& name);
template <>
std::shared_ptr<const RegularizerImpl> Regularizer::from_name(const std::string& name);
template <>
std::shared_ptr<const ConstraintImpl> Constraint::from_name(const std::string& name);
template <>
std::shared_ptr<const QuantizerImpl> Quantizer::from_name(const std::string& name);

class Activation : public Handle<const ActivationImpl> {
 public:
  Activation() = default;               // None: linear
  Activation(std::nullptr_t) {}         // NOLINT: implicit on purpose
  Activation(const char* name);         // NOLINT
  Activation(const std::string& name);  // NOLINT
  template <class F>
  requires(PartFunction<F, Tensor, const Tensor&> && !std::is_same_v<F, Activation>)
      Activation(F function)  // NOLINT
      : Handle(of_function(std::move(function))) {}
  explicit Activation(std::shared_ptr<const ActivationImpl> impl) : Handle(std::move(impl)) {}

  // Applies the function; None returns x itself. Throws Unimplemented for a layer that has weights.
  Tensor operator()(const Tensor& x) const;
  // "linear" for None, as serialized by Keras; "" for an unnamed callable or a layer.
  std::string name() const { return impl_ ? impl_->name : "linear"; }

 private:
  // Recognizes a handle to a layer, e.g. layers::LeakyReLU({…}), so that it can be saved.
  template <class F>
  static std::shared_ptr<const ActivationImpl> of_function(F function) {
    std::shared_ptr<Layer> layer;
    if constexpr (requires {
                    { function.shared() } -> std::convertible_to<std::shared_ptr<Layer>>;
                  }) {
      layer = function.shared();
    }
    return std::make_shared<const ActivationImpl>(
        ActivationImpl{"", std::move(function), std::move(layer)});
  }
};

// Converts such objects to and from Keras's serialized form: {"module", "class_name", "config",
// "registered_name"}; None is null, and an activation is its name or its serialized layer. Names
// alone are accepted when reading. Throws InvalidArgument for an activation without a name and for
// unregistered names.
Json serialize(const Initializer& initializer);
Json serialize(const Regularizer& regularizer);
Json serialize(const Constraint& constraint);
Json serialize(const Quantizer& quantizer);
Json serialize(const Activation& activation);
Initializer initializer_from_json(const Json& json);
Regularizer regularizer_from_json(const Json& json);
Constraint constraint_from_json(const Json& json);
Quantizer quantizer_from_json(const Json& json);
Activation activation_from_json(const Json& json);

// The registries that resolve names: Keras's classes, and those that users add as "package>Name".
// Factories create an object from its get_config(); {} means all defaults.
using InitializerFactory = std::function<Initializer(const Json& config)>;
using RegularizerFactory = std::function<Regularizer(const Json& config)>;
using ConstraintFactory = std::function<Constraint(const Json& config)>;
using QuantizerFactory = std::function<Quantizer(const Json& config)>;
using ActivationFunction = std::function<Tensor(const Tensor&)>;
Registry<InitializerFactory>& initializer_registry();
Registry<RegularizerFactory>& regularizer_registry();
Registry<ConstraintFactory>& constraint_registry();
Registry<QuantizerFactory>& quantizer_registry();
Registry<ActivationFunction>& activation_registry();

}  // namespace cornu
