// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/model/layer.h"
#include "framework/model/parts.h"
#include "framework/model/serialized.h"

namespace cornu {
namespace {

// The name of a dtype policy: from Keras's serialized policy, or a name alone.
std::string dtype_from_config(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.as_string();
  const Json* name = json.at("config").find("name");
  check<Unimplemented>(
      name != nullptr,
      "Config: expected a dtype policy with a name, such as float32, got {}: there "
      "are no quantized layers here. Save the model in Keras before quantize() is "
      "called.",
      json.excerpt());
  return name->as_string();
}

}  // namespace

LayerOptions LayerOptions::from_config(const Json& config) {
  LayerOptions options;
  ConfigReader fields(config);
  fields("name", options.name);
  if (const Json* dtype = config.find("dtype")) options.dtype = dtype_from_config(*dtype);
  fields("trainable", options.trainable);
  if (const Json* penalty = config.find("activity_regularizer")) {
    options.activity_regularizer = regularizer_from_json(*penalty);
  }
  return options;
}

}  // namespace cornu
