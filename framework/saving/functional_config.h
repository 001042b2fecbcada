// SPDX-License-Identifier: Apache-2.0
// The graphs of functional models in Keras's configs.
#pragma once

#include "framework/core/json.h"
#include "framework/core/tensors.h"
#include "framework/model/functional.h"

namespace cornu {

// Gives the entry of a layer of the graph, which may be a model.
using SerializeLayer = Json (*)(const Layer& layer);

// Sets "layers", "input_layers" and "output_layers" in a model's config.
void write_graph(Json& config, const FunctionalGraph& graph, SerializeLayer serialize);

// Placeholders between which a functional model lies.
struct GraphEnds {
  Tensors inputs;
  Tensors outputs;
};
// Makes the layers that a config names, and calls them as it says. InvalidArgument for a config
// that doesn't fit together or names a class that isn't registered; Unimplemented for an op that
// isn't here.
GraphEnds read_graph(const Json& config);

}  // namespace cornu
