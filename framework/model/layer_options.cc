// SPDX-License-Identifier: Apache-2.0
#include "framework/core/json.h"
#include "framework/model/dtype_policy_json.h"
#include "framework/model/layer.h"
#include "framework/model/parts.h"
#include "framework/model/serialized.h"

namespace cornu {

LayerOptions LayerOptions::from_config(const Json& config) {
  LayerOptions options;
  ConfigReader fields(config);
  fields("name", options.name);
  if (const Json* dtype = config.find("dtype")) options.dtype = dtype_policy_name(*dtype);
  fields("trainable", options.trainable);
  if (const Json* penalty = config.find("activity_regularizer")) {
    options.activity_regularizer = regularizer_from_json(*penalty);
  }
  return options;
}

}  // namespace cornu
