// SPDX-License-Identifier: Apache-2.0
#include "layers/core/lambda.h"

#include <memory>

#include "framework/core/strings.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, LambdaOptions& options) {
  fields("output_shape", options.output_shape);
  absent_field(fields, "mask", Json());
  fields("arguments", options.arguments);
}

namespace {

constexpr char kHowToRegister[] =
    "Register one, layers::lambda_registry().add(\"package>name\", function), and give "
    "layers::Lambda that name; in Python keras.saving.register_keras_serializable(\"package\") "
    "registers it.";

class LambdaLayer : public KerasLayerOf<LambdaOptions> {
 public:
  LambdaLayer(LambdaFunction function, const LambdaOptions& options)
      : KerasLayerOf("Lambda", options), function_(std::move(function)) {}

  void build_list(const std::vector<Shape>&) override {}
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    return function_.call()(inputs, args, options_.arguments);
  }

  Json get_config() const override {
    check<FailedPrecondition>(!function_.name().empty(),
                              "{}: its function has no name, which files need. {}", label(),
                              kHowToRegister);
    Json config = Layer::get_config();
    config.set("function", Json::object({{"module", "builtins"},
                                         {"class_name", "function"},
                                         {"config", function_.name()},
                                         {"registered_name", "function"}}));
    Json options = Json::object();
    write_options(options, options_);
    for (const char* key : {"output_shape", "arguments"}) {
      if (const Json* value = options.find(key); !value->is_null()) config.set(key, *value);
    }
    return config;
  }

 private:
  LambdaFunction function_;
};

// The name in Keras 3's serialized function, or in Keras 2's config.
std::string name_of_function(const Json& config) {
  const Json* name = config.find("name");
  const Json& function = config.at("function");
  const bool is_object = function.is_object();
  const Json* kind = is_object ? function.find("class_name") : nullptr;
  const bool is_bytecode = function.is_array() || (kind && *kind == Json("__lambda__"));
  check<InvalidArgument>(
      !is_bytecode, "Lambda '{}': its function is Python bytecode, which is never executed. {}",
      printable(name ? name->as_string() : ""), kHowToRegister);
  return (is_object ? function.at("config") : function).as_string();
}

}  // namespace

Registry<LambdaCall>& lambda_registry() {
  static auto& registry =
      make_registry<LambdaCall>("function of Lambda layers", [](Registry<LambdaCall>&) {});
  return registry;
}

LambdaFunction::LambdaFunction(const std::string& name) : name_(name) {
  if (const ActivationFunction* activation = activation_registry().find(name)) {
    call_ = [function = *activation](const Tensors& inputs, const CallArgs&, const Json&) {
      return function(inputs.single());
    };
    return;
  }
  const LambdaCall* found = lambda_registry().find(name);
  check<InvalidArgument>(found != nullptr, "Unknown function '{}' of a Lambda layer.{} {}",
                         printable(name), did_you_mean(name, lambda_registry().names()),
                         kHowToRegister);
  call_ = *found;
}

Lambda::Lambda(const LambdaFunction& function, const LambdaOptions& options)
    : LayerHandle(std::make_shared<LambdaLayer>(function, options)) {}

Lambda Lambda::from_config(const Json& config) {
  return Lambda(name_of_function(config), read_layer_options<LambdaOptions>(config));
}

}  // namespace cornu::layers
