// SPDX-License-Identifier: Apache-2.0
// The messages of an ONNX file (onnx.proto3), encoded by hand; the field numbers are in the .cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
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

// Where the bytes of initializers go: into the file, which protobuf bounds to 2 GiB, or beside it,
// where readers find them by the name that the file says (TensorProto.external_data).
struct TensorStorage {
  std::string location = {};  // the name of the file of external data, in the same folder
  // None: where the initializers take more than `whole` bytes in all.
  std::optional<bool> external = {};
  int64_t threshold = 1024;           // bytes: smaller ones stay in the file
  uint64_t whole = 1'500'000'000;     // bytes
  uint64_t limit = (1ULL << 31) - 1;  // bytes of the file itself
};

// Two files as the pieces to write one after another. Tensors' bytes are where they are.
struct EncodedModel {
  EncodedModel() = default;
  EncodedModel(EncodedModel&&) = default;  // pieces stay where they are
  EncodedModel& operator=(EncodedModel&&) = default;

  using Pieces = std::vector<std::span<const std::byte>>;
  Pieces file;  // a ModelProto
  Pieces data;  // of initializers; empty: it isn't needed

  // What the pieces are in.
  std::deque<std::string> texts;
  std::vector<Tensor> tensors;
};

// ResourceExhausted, naming `title` and the sizes, for a file beyond `storage.limit`;
// InvalidArgument for a location that isn't UTF-8.
EncodedModel encode_model(const ProtoGraph& graph, int64_t opset, std::string_view title,
                          const TensorStorage& storage);

}  // namespace cornu::onnx
