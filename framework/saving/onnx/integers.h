// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic of any width, although runtimes support only int32 and int64. Internal to
// saving/onnx.
#pragma once

#include <string>

#include "framework/saving/onnx/graph_writer.h"

namespace cornu::onnx {

// Applies an operator whose result has the dtype of its inputs. Integers other than int32 and int64
// are computed in int64 and wrap correctly when cast back.
std::string in_common_dtype(NodeWriter& n, const char* op);

}  // namespace cornu::onnx
