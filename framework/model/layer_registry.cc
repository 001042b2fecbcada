// SPDX-License-Identifier: Apache-2.0
#include "framework/model/layer_registry.h"

#include <algorithm>

#include "framework/core/strings.h"
#include "framework/model/dictionary_paths.h"
#include "framework/model/layer_sharing.h"
#include "framework/model/registration_advice.h"

namespace cornu {

std::string default_name(const std::string& class_name) {
  // Keras's class name is longer than the name it is exported under.
  if (class_name == "GroupQueryAttention") return "grouped_query_attention";
  return to_snake_case(std::string_view(class_name).substr(class_name.rfind('>') + 1));
}

namespace {

// Shapes as Keras's build takes them: one, a list, or a dictionary with the names of the inputs.
Json shapes_of_inputs(const std::vector<Shape>& shapes, const std::vector<std::string>& names) {
  if (!names.empty()) return nested_object(names, {shapes.begin(), shapes.end()});
  return shapes.size() == 1 ? Json(shapes[0]) : Json(Json::Array(shapes.begin(), shapes.end()));
}

// Input shapes keyed by the names of the arguments that Keras's build takes: a shape, or a list of
// shapes. Empty when the call has no named arguments.
Json named_shapes(const Layer& layer) {
  Json result = Json::object();
  const CallSignature& signature = layer.call_signature();
  const auto& shapes = layer.built_shapes();
  const auto& names = layer.built_names();
  for (size_t i = 0; i < std::min(signature.built, signature.inputs.size()); ++i) {
    Json::Array own;
    for (size_t k = 0; k < names.size(); ++k) {
      if (names[k] == signature.inputs[i]) own.push_back(shapes[k]);
    }
    if (own.empty()) continue;
    result.set(signature.inputs[i] + "_shape", own.size() == 1 ? own[0] : Json(std::move(own)));
  }
  return result;
}

Json serialized(const Layer& layer) {
  const ClassMembers of = class_members(layer.module(), layer.class_name());
  Json json = Json::object({{"module", of.module},
                            {"class_name", of.class_name},
                            {"config", layer.get_config()},
                            {"registered_name", of.registered_name}});
  const auto& shapes = layer.built_shapes();
  if (Json named = named_shapes(layer); named.size() > 1) {
    json.set("build_config", Json::object({{"shapes_dict", std::move(named)}}));
  } else if (named.size() == 1) {
    json.set("build_config", Json::object({{"input_shape", shapes[0]}}));
  } else if (!shapes.empty()) {
    json.set("build_config",
             Json::object({{"input_shape", shapes_of_inputs(shapes, layer.built_names())}}));
  }
  return json;
}

LayerHandle made_from(const Json& json) {
  const Registry<LayerFactory>& registry = layer_registry();
  const std::string name =
      is_of_keras(json) ? json.at("class_name").as_string() : own_class(registry, json);
  const LayerFactory* make = registry.find(name);
  if (!make) {
    raise<InvalidArgument>(
        "Unknown layer '{}'.{} Register a class of your own by register_serializable before "
        "loading.",
        printable(name), did_you_mean(name, registry.names()));
  }
  return naming_class(name, [&] { return (*make)(json.at("config")); });
}

}  // namespace

Json serialize_layer(const Layer& layer) {
  return internal::serialize_with_sharing(layer, [&] { return serialized(layer); });
}

LayerHandle layer_from_json(const Json& json) {
  return internal::layer_with_sharing(json, [&] { return made_from(json); });
}

}  // namespace cornu
