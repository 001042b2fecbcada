// SPDX-License-Identifier: Apache-2.0
// Ops that are written as others. Internal to saving/onnx.
#pragma once

#include <string_view>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::onnx {

// The outputs of a node in other ops. Later outputs may be left out: they belong to gradients.
using Lowering = std::vector<Tensor> (*)(const std::vector<Tensor>& inputs, const Attributes&);

// Null where the op is written as it is.
Lowering lowering_of(std::string_view op);

}  // namespace cornu::onnx
