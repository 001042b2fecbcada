// SPDX-License-Identifier: Apache-2.0
// Pooling over windows in 1, 2 or 3 spatial axes.
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/argument_types.h"

namespace cornu::layers {

template <int kAxes>
struct PoolingOptions {
  Size<kAxes> pool_size = 2;
  Size<kAxes> strides = {};       // None: pool_size
  std::string padding = "valid";  // or "same"
  std::string data_format = {};   // None: "channels_last"; or "channels_first"
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

enum class PoolingKind { Max, Mean };

// keras.layers.MaxPooling…: the maximum of each window, per channel. keras.layers.AveragePooling…:
// the mean; padding added by "same" doesn't count.
//
// (batch, spatial…, channels) -> (batch, new spatial…, channels).
template <PoolingKind kKind, int kAxes>
class Pooling final : public LayerHandle {
 public:
  explicit Pooling(const PoolingOptions<kAxes>& options = {});
  static Pooling from_config(const Json& config);
};

using MaxPooling1DOptions = PoolingOptions<1>;
using MaxPooling2DOptions = PoolingOptions<2>;
using MaxPooling3DOptions = PoolingOptions<3>;
using AveragePooling1DOptions = PoolingOptions<1>;
using AveragePooling2DOptions = PoolingOptions<2>;
using AveragePooling3DOptions = PoolingOptions<3>;

using MaxPooling1D = Pooling<PoolingKind::Max, 1>;
using MaxPooling2D = Pooling<PoolingKind::Max, 2>;
using MaxPooling3D = Pooling<PoolingKind::Max, 3>;
using MaxPool1D = MaxPooling1D;
using MaxPool2D = MaxPooling2D;
using MaxPool3D = MaxPooling3D;
using AveragePooling1D = Pooling<PoolingKind::Mean, 1>;
using AveragePooling2D = Pooling<PoolingKind::Mean, 2>;
using AveragePooling3D = Pooling<PoolingKind::Mean, 3>;
using AvgPool1D = AveragePooling1D;
using AvgPool2D = AveragePooling2D;
using AvgPool3D = AveragePooling3D;

}  // namespace cornu::layers
