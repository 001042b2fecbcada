// SPDX-License-Identifier: Apache-2.0
// The messages of an ONNX file (onnx.proto3), encoded by hand; the field numbers are in the .cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::onnx {

// The versions of the operator set that are written; operators mean the same in all of them.
inline constexpr int64_t kFirstOpset = 18;
inline constexpr int64_t kLastOpset = 23;

// The dtype of values in the file: bfloat16 is computed in float32, since hardly any runtime has
// kernels for it.
inline DType exported_dtype(DType dtype) {
  return dtype == DType::BFloat16 ? DType::Float32 : dtype;
}
// TensorProto.DataType of it.
int64_t data_type(DType dtype);

// AttributeProtos of a node, to be joined: integer("axis", 1) + integers("pads", pads).
std::string integer(std::string_view name, int64_t value);
std::string number(std::string_view name, float value);
std::string text(std::string_view name, std::string_view value);
std::string integers(std::string_view name, const std::vector<int64_t>& values);
std::string texts(std::string_view name, const std::vector<std::string>& values);

struct ProtoNode {
  std::string op_type;
  std::string name;
  std::vector<std::string> inputs;  // "": left out
  std::vector<std::string> outputs;
  std::string attributes;
};

// A graph's input or output. A size is a number or the name of an open axis; "": nothing is said.
struct ProtoValue {
  std::string name;
  DType dtype;
  std::vector<std::variant<int64_t, std::string>> sizes;
};

struct ProtoTensor {
  std::string name;
  Tensor value;
};

struct ProtoGraph {
  std::string name;
  std::vector<ProtoNode> nodes;
  std::vector<ProtoTensor> initializers;
  std::vector<ProtoValue> inputs;
  std::vector<ProtoValue> outputs;
};

// A node's attribute that is a graph: a loop's body, a branch. It has no initializers of its own.
std::string subgraph(std::string_view name, const ProtoGraph& graph);

// A whole ModelProto. ResourceExhausted, naming `title` and the sizes, beyond `limit` bytes:
// protobuf's messages end at 2 GiB.
std::string encode_model(const ProtoGraph& graph, int64_t opset, std::string_view title,
                         uint64_t limit = (uint64_t{1} << 31) - 1);

}  // namespace cornu::onnx
