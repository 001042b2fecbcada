// SPDX-License-Identifier: Apache-2.0
// ONNX files as functional models.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/tensors.h"

namespace cornu::onnx {

// The operator sets that are read.
inline constexpr int64_t kFirstReadOpset = 6;
inline constexpr int64_t kLastReadOpset = 23;

struct ImportedGraph {
  Tensors inputs;
  Tensors outputs;  // by name where there are several
};

// Makes layers and ops of the file's nodes; what has weights is a layer with these. Shapes and
// dtypes of the inputs are the file's, names too, but for '/', which is '_' (of layers '.', too).
// Errors, naming the file, and where it is of one the node: Unimplemented for operators, or forms
// of them, that aren't read; DataLoss for a damaged file, with nodes that read what none before
// them makes; ResourceExhausted for one that asks for much more memory than it has bytes; those of
// layers and ops for operands that don't fit.
ImportedGraph read_onnx(const std::string& path);

}  // namespace cornu::onnx
