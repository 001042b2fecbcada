// SPDX-License-Identifier: Apache-2.0
// Functions as ONNX files.
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
  Shape shape;  // kUnknown: open, of any size when the file is run
  DType dtype = DType::Float32;
};

struct ExportedFunction {
  std::string title;  // of the model, for errors
  std::vector<ExportedInput> inputs;
  struct Trace {
    TracedGraph traced;
    std::vector<std::string> output_names;
  };
  // Traces the function for inputs of these types.
  std::function<Trace(const std::vector<TensorType>&)> trace;
};

// A ModelProto of this operator set (kFirstOpset to kLastOpset). A function with open axes is
// traced for several sizes of them; what follows a size is computed from it when the file is run.
// Axis 0 of all inputs is one axis, the batch; others are the same where the function needs them to
// be.
// Errors: Unimplemented, naming layer and op, for an op that ONNX doesn't have; FailedPrecondition
// where what is computed follows an open axis in a way that can't be written; InvalidArgument for a
// name that isn't UTF-8; those of encode_model; and what tracing throws.
EncodedModel exported(const ExportedFunction& function, int64_t opset,
                      const TensorStorage& storage);

}  // namespace cornu::onnx
