// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "framework/model/layer.h"

namespace cornu::layers {

struct PipelineOptions {
  std::string name = {};
};

// keras.layers.Pipeline: a sequence of layers as a single layer. When the training flag isn't set,
// it defaults to training, as for layers that change images randomly.
//
//   const layers::Pipeline augment(
//       {layers::RandomFlip(), layers::RandomRotation({.factor = 0.1})});
//   auto pictures = dataset.map([=](const Tensor& x) { return Tensor(augment(x)); });
class Pipeline final : public LayerHandle {
 public:
  // Throws InvalidArgument if any handle is empty. Without layers, returns its inputs.
  explicit Pipeline(const std::vector<LayerHandle>& layers, const PipelineOptions& options = {});
  static Pipeline from_config(const Json& config);

  std::vector<LayerHandle> layers() const;
};

}  // namespace cornu::layers
