// SPDX-License-Identifier: Apache-2.0
// Global pooling over 1, 2 or 3 spatial axes.
#pragma once

#include <string>

#include "framework/model/layer.h"
#include "layers/pooling/pooling.h"

namespace cornu::layers {

struct GlobalPoolingOptions {
  std::string data_format = {};  // None: "channels_last"; or "channels_first"
  bool keepdims = false;         // keep spatial axes with size 1
  std::string name = {};
  DTypeName dtype = {};
  bool trainable = true;
};

// keras.layers.GlobalMaxPooling… and GlobalAveragePooling…: (batch, spatial…, channels) -> (batch,
// channels). GlobalAveragePooling1D ignores masked steps.
template <PoolingKind kKind, int kAxes>
class GlobalPooling final : public LayerHandle {
 public:
  explicit GlobalPooling(const GlobalPoolingOptions& options = {});
  static GlobalPooling from_config(const Json& config);
};

using GlobalMaxPooling1D = GlobalPooling<PoolingKind::Max, 1>;
using GlobalMaxPooling2D = GlobalPooling<PoolingKind::Max, 2>;
using GlobalMaxPooling3D = GlobalPooling<PoolingKind::Max, 3>;
using GlobalMaxPool1D = GlobalMaxPooling1D;
using GlobalMaxPool2D = GlobalMaxPooling2D;
using GlobalMaxPool3D = GlobalMaxPooling3D;
using GlobalAveragePooling1D = GlobalPooling<PoolingKind::Mean, 1>;
using GlobalAveragePooling2D = GlobalPooling<PoolingKind::Mean, 2>;
using GlobalAveragePooling3D = GlobalPooling<PoolingKind::Mean, 3>;
using GlobalAvgPool1D = GlobalAveragePooling1D;
using GlobalAvgPool2D = GlobalAveragePooling2D;
using GlobalAvgPool3D = GlobalAveragePooling3D;

}  // namespace cornu::layers
