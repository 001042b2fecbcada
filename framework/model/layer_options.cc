// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/model/dtype_policy.h"
#include "framework/model/layer.h"
#include "framework/model/parts.h"
#include "framework/model/serialized.h"

namespace cornu {
namespace {

// The name of a dtype policy, from Keras's serialized policy or a plain name.
std::string dtype_from_config(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_string()) return json.as_string();
  const Json& config = json.at("config");
  if (const Json* name = config.find("name")) return name->as_string();
  const Json* mode = config.find("mode");
  check<Unimplemented>(mode != nullptr,
                       "Config: expected a dtype policy with a name, such as float32, or with a "
                       "mode of quantization, got {}: maps of policies aren't available here.",
                       json.excerpt());
  const Json* source = config.find("source_name");
  const bool given = source && !source->is_null();
  return fmt::format("{}_from_{}", mode->as_string(),
                     given ? source->as_string() : dtype_policy().name());
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
