// SPDX-License-Identifier: Apache-2.0
#include "layers/core/lambda.h"

#include <algorithm>
#include <memory>

#include "framework/core/strings.h"
#include "framework/model/constants.h"
#include "framework/model/copied_by_itself.h"
#include "framework/model/own_classes.h"
#include "layers/keras_layer.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, LambdaOptions& options) {
  fields("output_shape", options.output_shape);
  fields("arguments", options.arguments);
}

namespace {

constexpr char kHowToRegister[] =
    "Register one, layers::lambda_registry().add(\"package>name\", function), and give "
    "layers::Lambda that name; in Python keras.saving.register_keras_serializable(\"package\") "
    "registers it.";

class LambdaLayer : public KerasLayerOf<LambdaOptions>, public CopiedByItself {
 public:
  LambdaLayer(LambdaFunction function, const LambdaOptions& options)
      : KerasLayerOf("Lambda", options), function_(std::move(function)) {}

  void build_list(const std::vector<Shape>&) override {}
  bool autocasts_variables() const override { return true; }
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    return function_.call()(inputs, args, options_.arguments);
  }

  std::shared_ptr<Layer> copy() const override {
    LambdaOptions options = options_;
    options.name = name();
    options.trainable = trainable();
    return std::make_shared<LambdaLayer>(function_, options);
  }

  bool supports_masking() const override { return options_.mask.given(); }
  Tensor compute_mask(const Tensors& inputs, const Tensor& mask) const override {
    const std::optional<LambdaFunction>& function = options_.mask.function();
    if (!function) return options_.mask.tensor();
    const Tensors result = function->call()(inputs, {.mask = mask}, {});
    return result.size() == 0 ? Tensor() : result.single();
  }

  Json get_config() const override {
    Json config = Layer::get_config();
    config.set("function", serialized(function_, "function"));
    if (!options_.output_shape.is_null()) config.set("output_shape", options_.output_shape);
    if (const auto& function = options_.mask.function()) {
      config.set("mask", serialized(*function, "mask"));
    } else if (options_.mask.given()) {
      config.set("mask", serialize_constant(options_.mask.tensor()));
    }
    if (!options_.arguments.is_null()) config.set("arguments", options_.arguments);
    return config;
  }

 private:
  Json serialized(const LambdaFunction& function, const char* what) const {
    check<FailedPrecondition>(!function.name().empty(),
                              "{}: its {} has no name, which files need. {}", label(), what,
                              kHowToRegister);
    return Json::object({{"module", "builtins"},
                         {"class_name", "function"},
                         {"config", function.name()},
                         {"registered_name", "function"}});
  }

  LambdaFunction function_;
};

// The name in Keras 3's serialized function or in Keras 2's config.
std::string name_of_function(const Json& config, const char* key) {
  const Json* name = config.find("name");
  const Json& function = config.at(key);
  const bool is_object = function.is_object();
  const Json* kind = is_object ? function.find("class_name") : nullptr;
  const bool is_bytecode = function.is_array() || (kind && *kind == Json("__lambda__"));
  check<InvalidArgument>(!is_bytecode,
                         "Lambda '{}': its {} is Python bytecode, which is never executed. {}",
                         printable(name ? name->as_string() : ""), key, kHowToRegister);
  if (is_object && !is_of_keras(function)) {
    const auto is_known = [](const std::string& own) { return is_own(activation_registry(), own); };
    const auto names = read_own_class(function, "function").registered;
    const auto found = std::ranges::find_if(names, is_known);
    return found != names.end() ? *found : own_class(lambda_registry(), function);
  }
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
  auto options = read_layer_options<LambdaOptions>(config);
  if (const Json* mask = config.find("mask"); mask && !mask->is_null()) {
    options.mask = is_constant(*mask) ? LambdaMask(parse_constant(*mask))
                                      : LambdaMask(name_of_function(config, "mask"));
  }
  return Lambda(name_of_function(config, "function"), options);
}

}  // namespace cornu::layers
