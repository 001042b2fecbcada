// SPDX-License-Identifier: Apache-2.0
// Layers by name.
#pragma once

#include <functional>
#include <memory>

#include "framework/core/json.h"
#include "framework/core/registry.h"
#include "framework/model/layer.h"

namespace cornu {

// Makes a layer from its get_config().
using LayerFactory = std::function<LayerHandle(const Json& config)>;

// By Keras's class name ("Dense") or a user's registered name ("package>Name"). Users add theirs:
//   layer_registry().add("my_package>Residual", [](const Json& config) { … });
Registry<LayerFactory>& layer_registry();

// What layers of a class ("Dense", "shop>Dense") are called without a name, and in files: "dense".
std::string default_name(const std::string& class_name);

// Keras's serialized form of a layer: {"module", "class_name", "config", "registered_name",
// "build_config"}, and back. InvalidArgument for a class that isn't registered.
Json serialize_layer(const Layer& layer);
LayerHandle layer_from_json(const Json& json);

}  // namespace cornu
