// SPDX-License-Identifier: Apache-2.0
// Upsampling of spatial axes.
#pragma once

#include <cstdint>
#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

struct UpSampling1DOptions {
  int64_t size = 2;  // repetitions of each step
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.UpSampling1D: (batch, steps, channels) -> each step repeated.
class UpSampling1D final : public LayerHandle {
 public:
  explicit UpSampling1D(const UpSampling1DOptions& options = {});
  static UpSampling1D from_config(const Json& config);
};

struct UpSampling2DOptions {
  Size2 size = 2;                // factors for height and width
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  // "nearest", "bilinear", "bicubic", "lanczos3" or "lanczos5".
  std::string interpolation = "nearest";
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.UpSampling2D: enlarges images (batch, height, width, channels), or (batch, channels,
// height, width), by repeating or interpolating pixels (ops::image::resize).
class UpSampling2D final : public LayerHandle {
 public:
  explicit UpSampling2D(const UpSampling2DOptions& options = {});
  static UpSampling2D from_config(const Json& config);
};

struct UpSampling3DOptions {
  Size3 size = 2;                // factors for depth, height and width
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.UpSampling3D: enlarges volumes (batch, depth, height, width, channels), or (batch,
// channels, depth, height, width), by repeating elements.
class UpSampling3D final : public LayerHandle {
 public:
  explicit UpSampling3D(const UpSampling3DOptions& options = {});
  static UpSampling3D from_config(const Json& config);
};

}  // namespace cornu::layers
