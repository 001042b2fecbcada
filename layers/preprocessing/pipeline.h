// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "framework/model/layer.h"

namespace cornu::layers {

struct PipelineOptions {
  std::string name = {};
};

// keras.layers.Pipeline: layers one after another, as one layer. Where nobody says whether it is
// training, it is, as of layers that change pictures at random.
//
//   const layers::Pipeline augment({layers::RandomFlip(), layers::RandomRotation({.factor =
//   0.1})}); auto pictures = dataset.map([=](const Tensor& x) { return Tensor(augment(x)); });
class Pipeline : public LayerHandle {
 public:
  // InvalidArgument where one of them is none. Without layers it gives its inputs.
  explicit Pipeline(const std::vector<LayerHandle>& layers, const PipelineOptions& options = {});
  static Pipeline from_config(const Json& config);

  std::vector<LayerHandle> layers() const;
};

}  // namespace cornu::layers
