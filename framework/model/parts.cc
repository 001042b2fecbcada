// SPDX-License-Identifier: Apache-2.0
#include "cornu/model/parts.h"

#include "cornu/model/serialized.h"

namespace cornu {
namespace {

template <class Part>
Json serialize_part(const char* module, const Part& part) {
  if (!part) return nullptr;
  return serialized_form(module, part->class_name(), part->get_config());
}

template <class Part, class Factory>
Part part_from_json(const Registry<Factory>& registry, const Json& json) {
  return json.is_null() ? Part() : make_from_serialized(registry, json);
}

}  // namespace

Initializer::Initializer(const char* name) : Initializer(std::string(name)) {}
Initializer::Initializer(const std::string& name)
    : Initializer(make_from_serialized(initializer_registry(), name)) {}

Regularizer::Regularizer(const char* name) : Regularizer(std::string(name)) {}
Regularizer::Regularizer(const std::string& name)
    : Regularizer(make_from_serialized(regularizer_registry(), name)) {}

Constraint::Constraint(const char* name) : Constraint(std::string(name)) {}
Constraint::Constraint(const std::string& name)
    : Constraint(make_from_serialized(constraint_registry(), name)) {}

Activation::Activation(const char* name) : Activation(std::string(name)) {}
Activation::Activation(const std::string& name) {
  const auto& registry = activation_registry();
  const std::string& resolved = registry.resolve(name);
  impl_ = std::make_shared<const ActivationImpl>(ActivationImpl{resolved, registry.at(resolved)});
}

Json serialize(const Initializer& initializer) {
  return serialize_part("keras.initializers", initializer);
}
Json serialize(const Regularizer& regularizer) {
  return serialize_part("keras.regularizers", regularizer);
}
Json serialize(const Constraint& constraint) {
  return serialize_part("keras.constraints", constraint);
}

Json serialize(const Activation& activation) {
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

Activation activation_from_json(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return Activation(json.as_string());
  const Json* name = json.find("config");
  check<InvalidArgument>(name != nullptr && name->is_string(),
                         "Config of an activation: expected a name or a registered function, got "
                         "{}.",
                         json.excerpt());
  return Activation(name->as_string());
}

}  // namespace cornu
