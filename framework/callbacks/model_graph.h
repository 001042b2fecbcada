// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/model/functional.h"

namespace cornu::callbacks {

// A serialized tensorflow.GraphDef, which TensorBoard shows under Graphs: a node for each call of a
// layer, with the layer's name (from the second call on with "_1", "_2", …), its class as the op,
// the nodes that it reads, and the shapes of its outputs.
std::string model_graph(const FunctionalGraph& graph);

}  // namespace cornu::callbacks
