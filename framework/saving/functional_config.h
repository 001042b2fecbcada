// SPDX-License-Identifier: Apache-2.0
// Graphs of functional models in Keras's configs.
#pragma once

#include "framework/core/json.h"
#include "framework/core/tensors.h"
#include "framework/model/functional.h"

namespace cornu {

// Returns the entry for a layer of the graph, which may be a model.
using SerializeLayer = Json (*)(const Layer& layer);

// Sets "layers", "input_layers" and "output_layers" in a model's config.
void write_graph(Json& config, const FunctionalGraph& graph, SerializeLayer serialize);

// The placeholders at both ends of a functional model.
struct GraphEnds {
  Tensors inputs;
  Tensors outputs;
};
// Creates the layers listed in a config and calls them as it specifies. Throws InvalidArgument for
// an inconsistent config and for an unregistered class, and Unimplemented for an unsupported op.
GraphEnds read_graph(const Json& config);

}  // namespace cornu
