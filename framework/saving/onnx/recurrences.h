// SPDX-License-Identifier: Apache-2.0
// Loops that ONNX has operators for. Internal to saving/onnx.
#pragma once

#include <functional>

#include "framework/graph/graph.h"
#include "framework/saving/onnx/lowering.h"

namespace cornu::onnx {

// `graph` with a node "recurrence" in place of each scan that is a cell's (cells.h), over inputs
// that are products with a constant kernel, with constant weights. The scan of any other cell stays
// one. `clean` is what has been done to the graph, whose constants are not in states any more.
Graph with_recurrences(const Graph& graph, NamedConstants& constants,
                       const std::function<Graph(const Graph&)>& clean);

}  // namespace cornu::onnx
