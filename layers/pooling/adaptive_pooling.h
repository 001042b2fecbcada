// SPDX-License-Identifier: Apache-2.0
// Pooling to a given output size, over 1, 2 or 3 spatial axes.
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"
#include "layers/pooling/pooling.h"

namespace cornu::layers {

template <int kAxes>
struct AdaptivePoolingOptions {
  Size<kAxes> output_size = {};  // required, > 0
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.AdaptiveMaxPooling… and AdaptiveAveragePooling…: the maximum or mean of each of
// output_size windows that cover an axis. Window i of n ranges from floor(i * size / n) to ceil((i
// + 1) * size / n): neighboring windows overlap if n doesn't divide the size.
//
// (batch, spatial…, channels) -> (batch, *output_size, channels).
template <PoolingKind kKind, int kAxes>
class AdaptivePooling final : public LayerHandle {
 public:
  explicit AdaptivePooling(const AdaptivePoolingOptions<kAxes>& options = {});
  static AdaptivePooling from_config(const Json& config);
};

using AdaptiveMaxPooling1DOptions = AdaptivePoolingOptions<1>;
using AdaptiveMaxPooling2DOptions = AdaptivePoolingOptions<2>;
using AdaptiveMaxPooling3DOptions = AdaptivePoolingOptions<3>;
using AdaptiveAveragePooling1DOptions = AdaptivePoolingOptions<1>;
using AdaptiveAveragePooling2DOptions = AdaptivePoolingOptions<2>;
using AdaptiveAveragePooling3DOptions = AdaptivePoolingOptions<3>;

using AdaptiveMaxPooling1D = AdaptivePooling<PoolingKind::Max, 1>;
using AdaptiveMaxPooling2D = AdaptivePooling<PoolingKind::Max, 2>;
using AdaptiveMaxPooling3D = AdaptivePooling<PoolingKind::Max, 3>;
using AdaptiveAveragePooling1D = AdaptivePooling<PoolingKind::Mean, 1>;
using AdaptiveAveragePooling2D = AdaptivePooling<PoolingKind::Mean, 2>;
using AdaptiveAveragePooling3D = AdaptivePooling<PoolingKind::Mean, 3>;

}  // namespace cornu::layers
