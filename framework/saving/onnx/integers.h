// SPDX-License-Identifier: Apache-2.0
// Arithmetic on integers of any width: runtimes have it for int32 and int64. Internal to
// saving/onnx.
#pragma once

#include <string>

#include "framework/saving/onnx/graph_writer.h"

namespace cornu::onnx {

// An operator that gives numbers of its inputs' dtype. Of other integers than int32 and int64 it is
// computed in int64, which wraps as they do when it is cast back.
std::string in_common_dtype(NodeWriter& n, const char* op);

}  // namespace cornu::onnx
