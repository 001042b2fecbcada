// SPDX-License-Identifier: Apache-2.0
// Zero padding of spatial axes.
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct ZeroPadding1DOptions {
  Size2 padding = 1;             // one number for both sides, or {before, after}
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ZeroPadding1D: (batch, steps, channels) -> (batch, more steps, channels).
class ZeroPadding1D final : public LayerHandle {
 public:
  explicit ZeroPadding1D(const ZeroPadding1DOptions& options = {});
  static ZeroPadding1D from_config(const Json& config);
};

struct ZeroPadding2DOptions {
  Margins2 padding = 1;  // one for all sides, {height, width}, {{top, bottom}, {left, right}}
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ZeroPadding2D: (batch, height, width, channels) -> the same with larger images.
class ZeroPadding2D final : public LayerHandle {
 public:
  explicit ZeroPadding2D(const ZeroPadding2DOptions& options = {});
  static ZeroPadding2D from_config(const Json& config);
};

struct ZeroPadding3DOptions {
  // One number for all sides, one per axis, or {before, after} per axis.
  Margins3 padding = 1;
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.ZeroPadding3D: (batch, depth, height, width, channels) -> the same with larger
// volumes.
class ZeroPadding3D final : public LayerHandle {
 public:
  explicit ZeroPadding3D(const ZeroPadding3DOptions& options = {});
  static ZeroPadding3D from_config(const Json& config);
};

}  // namespace cornu::layers
