// SPDX-License-Identifier: Apache-2.0
// Exports functions as ONNX files.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/graph/trace.h"
#include "framework/saving/onnx/onnx_proto.h"

namespace cornu::onnx {

struct ExportedInput {
  std::string name;
  Shape shape;  // kUnknown: an open axis, of any size at inference time
  DType dtype = DType::Float32;
};

struct ExportedFunction {
  std::string title;  // name of the model, for errors
  std::vector<ExportedInput> inputs;
  struct Trace {
    TracedGraph traced;
    std::vector<std::string> output_names;
  };
  // Traces the function for inputs of these types.
  std::function<Trace(const std::vector<TensorType>&)> trace;
};

// Returns a ModelProto for this operator set (kFirstOpset to kLastOpset). A function with open axes
// is traced for several sizes of them; values that depend on a size are computed from it at
// inference time. Axis 0 of all inputs is the same axis, the batch; other axes are identified with
// each other only if the function requires it. Throws Unimplemented, naming layer and op, for an op
// that ONNX doesn't have; FailedPrecondition when the computation depends on an open axis in a way
// that can't be expressed; InvalidArgument for a name that isn't UTF-8; the errors of encode_model;
// and errors from tracing.
EncodedModel exported(const ExportedFunction& function, int64_t opset,
                      const TensorStorage& storage);

}  // namespace cornu::onnx
