// SPDX-License-Identifier: Apache-2.0
#include "framework/model/layer_registry.h"

#include "framework/core/strings.h"

namespace cornu {

Json serialize_layer(const Layer& layer) {
  const Json module = layer.module();
  Json json = Json::object(
      {{"module", module},
       {"class_name", layer.class_name()},
       {"config", layer.get_config()},
       {"registered_name", module.is_null() ? Json(layer.class_name()) : Json(nullptr)}});
  const auto& shapes = layer.built_shapes();
  if (shapes.size() == 1) {
    json.set("build_config", Json::object({{"input_shape", shapes[0]}}));
  } else if (shapes.size() > 1 && layer.built_names().empty()) {
    Json::Array list(shapes.begin(), shapes.end());
    json.set("build_config", Json::object({{"input_shape", std::move(list)}}));
  }
  return json;
}

LayerHandle layer_from_json(const Json& json) {
  const Json* registered = json.find("registered_name");
  const bool custom = registered && registered->is_string() &&
                      layer_registry().find(registered->as_string()) != nullptr;
  const std::string& name = custom ? registered->as_string() : json.at("class_name").as_string();
  const LayerFactory* make = layer_registry().find(name);
  check<InvalidArgument>(make != nullptr,
                         "Unknown layer '{}'.{} Add a class of your own to layer_registry() before "
                         "loading.",
                         printable(name), did_you_mean(name, layer_registry().names()));
  return (*make)(json.at("config"));
}

}  // namespace cornu
