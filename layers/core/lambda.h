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

// The inputs of the layer, those of the call (masks, training), and LambdaOptions::arguments.
using LambdaCall =
    std::function<Tensors(const Tensors& inputs, const CallArgs& args, const Json& arguments)>;

// Functions by name ("my_package>double"), for files; Keras's are those that
// keras.saving.register_keras_serializable(package="my_package") decorates.
Registry<LambdaCall>& lambda_registry();

// A function of ops: a callable of (x), of (x, arguments) or as LambdaCall, x being a Tensor or
// Tensors; or the name of one of lambda_registry() or keras.activations.
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

// The mask of a Lambda layer's output: none, one tensor whatever the inputs are, or a function of
// the inputs and the first one's mask (undefined where it has none). Of lambda_registry(), by name,
// a function of the inputs whose CallArgs have that mask.
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
  const Tensor& tensor() const { return tensor_; }  // undefined where it is a function
  const std::optional<LambdaFunction>& function() const { return function_; }

 private:
  Tensor tensor_;
  std::optional<LambdaFunction> function_;
};

struct LambdaOptions {
  Json output_shape = {};           // kept for files: shapes are inferred here
  LambdaMask mask = {};             // of the output; with none, masks end here
  Json arguments = Json::object();  // what the function is given beside its inputs
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Lambda: a function of ops as a layer without weights. Only functions with a name can
// be saved: get_config() of others is FailedPrecondition, which says how to register one. Files
// with Python's bytecode (a Python lambda) are refused; nothing of them is executed.
class Lambda : public LayerHandle {
 public:
  explicit Lambda(const LambdaFunction& function, const LambdaOptions& options = {});
  static Lambda from_config(const Json& config);
};

}  // namespace cornu::layers
