// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/functional.h"

namespace cornu::callbacks {

// A serialized tensorflow.GraphDef, which TensorBoard shows under Graphs. It has a node for each
// call of a layer, with the layer's name (with the suffix "_1", "_2", … from the second call on),
// its class as the op, its input nodes, and the shapes of its outputs.
std::string model_graph(const FunctionalGraph& graph);

}  // namespace cornu::callbacks
