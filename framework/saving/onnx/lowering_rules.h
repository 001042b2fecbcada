// SPDX-License-Identifier: Apache-2.0
// Ops that are decomposed into other ops. Internal to saving/onnx.
#pragma once

#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::onnx {

// Computes a node's outputs with other ops. Trailing outputs may be omitted: they are for
// gradients.
using Lowering = std::vector<Tensor> (*)(const std::vector<Tensor>& inputs, const Attributes&);

// Returns null if the op is written directly.
Lowering lowering_of(std::string_view op);

}  // namespace cornu::onnx
