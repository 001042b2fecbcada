// SPDX-License-Identifier: Apache-2.0
#include "framework/model/parts.h"

#include "framework/model/layer_registry.h"
#include "framework/model/registration_advice.h"

namespace cornu {
namespace {

template <class Part>
Json serialize_part(const char* kind, const Part& part) {
  if (!part) return nullptr;
  check<InvalidArgument>(!part->class_name().empty(),
                         "A function as {0} can't be saved. Make it a class, and register it with "
                         "{0}_registry().add(\"package>Name\", …).",
                         kind);
  const std::string module = fmt::format("keras.{}s", kind);
  return serialized_form(module.c_str(), part->class_name(), part->get_config());
}

template <class Part, class Factory>
Part part_from_json(const Registry<Factory>& registry, const Json& json) {
  return json.is_null() ? Part() : make_from_file(registry, json);
}

}  // namespace

template <>
std::shared_ptr<const InitializerImpl> Initializer::from_name(const std::string& name) {
  return make_from_serialized(initializer_registry(), name).impl_;
}
template <>
std::shared_ptr<const RegularizerImpl> Regularizer::from_name(const std::string& name) {
  return make_from_serialized(regularizer_registry(), name).impl_;
}
template <>
std::shared_ptr<const ConstraintImpl> Constraint::from_name(const std::string& name) {
  return make_from_serialized(constraint_registry(), name).impl_;
}
template <>
std::shared_ptr<const QuantizerImpl> Quantizer::from_name(const std::string& name) {
  return make_from_serialized(quantizer_registry(), name).impl_;
}

Activation::Activation(const char* name)
    : Activation(std::string(given_text(name, "activation"))) {}
Activation::Activation(const std::string& name) {
  const auto& registry = activation_registry();
  const std::string& resolved = registry.resolve(name);
  impl_ = std::make_shared<const ActivationImpl>(ActivationImpl{resolved, registry.at(resolved)});
}

Json serialize(const Initializer& initializer) {
  return serialize_part("initializer", initializer);
}
Json serialize(const Regularizer& regularizer) {
  return serialize_part("regularizer", regularizer);
}
Json serialize(const Constraint& constraint) { return serialize_part("constraint", constraint); }
Json serialize(const Quantizer& quantizer) { return serialize_part("quantizer", quantizer); }

Json serialize(const Activation& activation) {
  if (activation && activation.shared()->layer) return serialize_layer(*activation.shared()->layer);
  const std::string name = activation.name();
  check<InvalidArgument>(
      !name.empty(),
      "Activation: a function without a name can't be saved. Register it with "
      "activation_registry().add(\"package>name\", function) and use that name.");
  if (name.find('>') == std::string::npos) return name;
  // Keras's form of a registered function.
  return Json::object({{"module", "builtins"},
                       {"class_name", "function"},
                       {"config", name},
                       {"registered_name", "function"}});
}

Initializer initializer_from_json(const Json& json) {
  return part_from_json<Initializer>(initializer_registry(), json);
}
Regularizer regularizer_from_json(const Json& json) {
  return part_from_json<Regularizer>(regularizer_registry(), json);
}
Constraint constraint_from_json(const Json& json) {
  return part_from_json<Constraint>(constraint_registry(), json);
}
Quantizer quantizer_from_json(const Json& json) {
  return part_from_json<Quantizer>(quantizer_registry(), json);
}

Activation activation_from_json(const Json& json) {
  if (json.is_null()) return {};
  if (const Json* config = json.is_string() ? nullptr : json.find("config");
      config && config->is_object()) {
    return Activation(layer_from_json(json));
  }
  const Json* name = json.is_string() ? &json : json.find("config");
  check<InvalidArgument>(name != nullptr && name->is_string(),
                         "Config of an activation: expected a name or a registered function, got "
                         "{}.",
                         json.excerpt());
  const std::string known = function_in_file(activation_registry(), json, name->as_string());
  return with_registration_advice(activation_registry(), known, [&] { return Activation(known); });
}

}  // namespace cornu
