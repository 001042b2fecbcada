// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "framework/core/json.h"
#include "framework/core/registry.h"
#include "framework/core/strings.h"
#include "framework/model/layer.h"

namespace cornu::layers {

// Arguments: the layer's inputs, the call's arguments (masks, training), and
// LambdaOptions::arguments.
using LambdaCall =
    std::function<Tensors(const Tensors& inputs, const CallArgs& args, const Json& arguments)>;

// Functions by name ("my_package>double"), for files. In Keras, they are decorated with
// keras.saving.register_keras_serializable(package="my_package").
Registry<LambdaCall>& lambda_registry();

// A function implemented with ops: a callable of (x), of (x, arguments) or of type LambdaCall,
// where x is a Tensor or Tensors; or a name in lambda_registry() or keras.activations.
class LambdaFunction {
 public:
  LambdaFunction(const char* name)  // NOLINT: implicit
      : LambdaFunction(std::string(given_text(name, "function"))) {}
  LambdaFunction(const std::string& name);  // NOLINT
  template <class F>
  requires std::is_invocable_v<F, const Tensors&, const CallArgs&, const Json&> LambdaFunction(
      F function)  // NOLINT
      : call_(std::move(function)) {}
  template <class F>
  requires std::is_invocable_v<F, const Tensors&, const Json&> LambdaFunction(F function)  // NOLINT
      : call_([f = std::move(function)](const Tensors& inputs, const CallArgs&,
                                        const Json& arguments) { return f(inputs, arguments); }) {}
  template <class F>
  requires std::is_invocable_v<F, const Tensors&> LambdaFunction(F function)  // NOLINT
      : call_([f = std::move(function)](const Tensors& inputs, const CallArgs&, const Json&) {
          return f(inputs);
        }) {}

  const std::string& name() const { return name_; }  // empty for a callable
  const LambdaCall& call() const { return call_; }

 private:
  std::string name_;
  LambdaCall call_;
};

// The mask of a Lambda layer's output: none, a tensor independent of the inputs, or a function of
// the inputs and the first input's mask (undefined if it has none). A name in lambda_registry()
// refers to a function of the inputs whose CallArgs contain that mask.
class LambdaMask {
 public:
  LambdaMask() = default;                                   // None
  LambdaMask(const Tensor& mask) : tensor_(mask) {}         // NOLINT: implicit
  LambdaMask(const char* name) : function_(name) {}         // NOLINT
  LambdaMask(const std::string& name) : function_(name) {}  // NOLINT
  template <class F>
  requires std::is_invocable_v<F, const Tensors&, const Tensor&> LambdaMask(F function)  // NOLINT
      : function_([f = std::move(function)](const Tensors& inputs, const CallArgs& args,
                                            const Json&) { return f(inputs, args.mask); }) {}

  bool given() const { return tensor_.defined() || function_; }
  const Tensor& tensor() const { return tensor_; }  // undefined if it is a function
  const std::optional<LambdaFunction>& function() const { return function_; }

 private:
  Tensor tensor_;
  std::optional<LambdaFunction> function_;
};

struct LambdaOptions {
  Json output_shape = {};           // only kept for files: shapes are inferred
  LambdaMask mask = {};             // for the output; None: the output has no mask
  Json arguments = Json::object();  // further arguments of the function
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Lambda: a function of ops as a layer without weights. Only named functions can be
// saved: get_config() of others throws FailedPrecondition, explaining how to register one. Files
// with Python bytecode (a Python lambda) are rejected; none of it is executed.
class Lambda final : public LayerHandle {
 public:
  explicit Lambda(const LambdaFunction& function, const LambdaOptions& options = {});
  static Lambda from_config(const Json& config);
};

}  // namespace cornu::layers
