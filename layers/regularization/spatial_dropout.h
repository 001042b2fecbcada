// SPDX-License-Identifier: Apache-2.0
// Dropout of whole channels, for 1, 2 or 3 spatial axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/model/layer.h"

namespace cornu::layers {

struct SpatialDropout1DOptions {
  double rate = -1;  // required, in [0, 1]
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
};

struct SpatialDropoutOptions {
  double rate = -1;              // required, in [0, 1]
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::optional<int64_t> seed = {};
  std::string name = {};
  DTypeName dtype = {};
};
using SpatialDropout2DOptions = SpatialDropoutOptions;
using SpatialDropout3DOptions = SpatialDropoutOptions;

// keras.layers.SpatialDropout… (Tompson et al., "Efficient object localization using convolutional
// networks", CVPR 2015): drops whole channels of (batch, spatial…, channels).
template <class Options, int kAxes>
class SpatialDropout final : public LayerHandle {
 public:
  explicit SpatialDropout(const Options& options);
  static SpatialDropout from_config(const Json& config);
};

using SpatialDropout1D = SpatialDropout<SpatialDropout1DOptions, 1>;
using SpatialDropout2D = SpatialDropout<SpatialDropout2DOptions, 2>;
using SpatialDropout3D = SpatialDropout<SpatialDropout3DOptions, 3>;

}  // namespace cornu::layers
