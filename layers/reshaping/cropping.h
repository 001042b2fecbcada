// SPDX-License-Identifier: Apache-2.0
// Cropping of spatial axes.
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct Cropping1DOptions {
  Size2 cropping = 1;  // one number for both sides, or {before, after}
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Cropping1D: (batch, steps, channels) -> (batch, fewer steps, channels).
class Cropping1D final : public LayerHandle {
 public:
  explicit Cropping1D(const Cropping1DOptions& options = {});
  static Cropping1D from_config(const Json& config);
};

struct Cropping2DOptions {
  Margins2 cropping = 0;  // one for all sides, {height, width}, {{top, bottom}, {left, right}}
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Cropping2D: (batch, height, width, channels) -> the same with smaller images.
class Cropping2D final : public LayerHandle {
 public:
  explicit Cropping2D(const Cropping2DOptions& options = {});
  static Cropping2D from_config(const Json& config);
};

struct Cropping3DOptions {
  // One number for all sides, one per axis, or {before, after} per axis.
  Margins3 cropping = 1;
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.Cropping3D: (batch, depth, height, width, channels) -> the same with smaller
// volumes.
class Cropping3D final : public LayerHandle {
 public:
  explicit Cropping3D(const Cropping3DOptions& options = {});
  static Cropping3D from_config(const Json& config);
};

}  // namespace cornu::layers
