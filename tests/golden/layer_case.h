// SPDX-License-Identifier: Apache-2.0
// The cases of layers.json.
#pragma once

#include <string>
#include <vector>

#include "framework/model/layer.h"
#include "tests/golden/golden.h"

namespace cornu::test {

inline std::vector<Tensor> golden_tensors(const Json& list) {
  std::vector<Tensor> tensors;
  for (const Json& item : list.as_array()) tensors.push_back(golden_tensor(item));
  return tensors;
}

// Creates the weights of the case's layer as calling it would.
inline void build_layer(const LayerHandle& layer, const Json& item,
                        const std::vector<Tensor>& inputs) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  std::vector<std::string> names;
  if (const Json* given = item.at("call_arguments").find("names")) {
    shapes.resize(static_cast<size_t>(item.at("call_arguments").at("built").as_int()));
    for (size_t i = 0; i < shapes.size(); ++i) names.push_back((*given)[i].as_string());
  }
  layer.get().ensure_built(shapes, names);
  if (layer.get().class_name() == "Pipeline") {  // builds its layers when called
    layer(Tensors(inputs), {.training = false});
  }
}

}  // namespace cornu::test
