// SPDX-License-Identifier: Apache-2.0
// The registry of layer classes, and (de)serialization of layers.
#pragma once

#include <functional>
#include <memory>

#include "framework/core/json.h"
#include "framework/core/registry.h"
#include "framework/model/layer.h"

namespace cornu {

// Creates a layer from its get_config().
using LayerFactory = std::function<LayerHandle(const Json& config)>;

// Maps Keras's class names ("Dense") and users' registered names ("package>Name") to factories.
// Users can add their own:
//   layer_registry().add("my_package>Residual", [](const Json& config) { … });
Registry<LayerFactory>& layer_registry();

// Returns the default name of layers of a class ("Dense", "shop>Dense"), also used in files:
// "dense".
std::string default_name(const std::string& class_name);

// Converts a layer to and from Keras's serialized form: {"module", "class_name", "config",
// "registered_name", "build_config"}. layer_from_json throws InvalidArgument for an unregistered
// class.
Json serialize_layer(const Layer& layer);
LayerHandle layer_from_json(const Json& json);

}  // namespace cornu
