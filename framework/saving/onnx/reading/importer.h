// SPDX-License-Identifier: Apache-2.0
// Reads ONNX files as functional models.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/tensors.h"

namespace cornu::onnx {

// The supported operator sets.
inline constexpr int64_t kFirstReadOpset = 6;
inline constexpr int64_t kLastReadOpset = 23;

struct ImportedGraph {
  Tensors inputs;
  Tensors outputs;  // named if there are several
};

// Creates layers and ops from the file's nodes; nodes with weights become layers. Shapes, dtypes
// and names of the inputs are those of the file, except that '/' in names is replaced by '_' (in
// layer names also '.'). Errors name the file and, if applicable, the node: Unimplemented for
// unsupported operators or forms of them; DataLoss for a damaged file or nodes that read values not
// computed before; ResourceExhausted for a file that would need much more memory than its size; and
// the errors of layers and ops for incompatible operands.
ImportedGraph read_onnx(const std::string& path);

}  // namespace cornu::onnx
