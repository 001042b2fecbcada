// SPDX-License-Identifier: Apache-2.0
// Converts loops for which ONNX has operators. Internal to saving/onnx.
#pragma once

#include <functional>

#include "framework/graph/graph.h"
#include "framework/saving/onnx/lowering.h"

namespace cornu::onnx {

// Returns `graph` with each scan that is a cell's loop (cells.h) replaced by a "recurrence" node,
// provided that its inputs are products with a constant kernel and its weights are constant. Other
// scans are unchanged. `clean` is the conversion already applied to the graph, in which constants
// are no longer in states.
Graph with_recurrences(const Graph& graph, NamedConstants& constants,
                       const std::function<Graph(const Graph&)>& clean);

}  // namespace cornu::onnx
