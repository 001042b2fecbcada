// SPDX-License-Identifier: Apache-2.0
// Layers that Keras's FeatureSpace adds to models. Internal: layers.
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

// The module of these classes, and of Feature and Cross, in files.
inline constexpr char kFeatureModule[] = "keras.src.layers.preprocessing.feature_space";

struct FeatureLayerOptions {
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// Casts numbers to floats and returns strings unchanged.
class TFDIdentity final : public LayerHandle {
 public:
  explicit TFDIdentity(const FeatureLayerOptions& options = {});
  static TFDIdentity from_config(const Json& config);
};

struct TFDConcatOptions {
  int64_t axis = -1;
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// Concatenates all inputs.
class TFDConcat final : public LayerHandle {
 public:
  explicit TFDConcat(const TFDConcatOptions& options = {});
  static TFDConcat from_config(const Json& config);
};

}  // namespace cornu::layers
