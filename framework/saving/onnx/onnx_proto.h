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

// The supported operator set versions; operators have the same meaning in all of them.
inline constexpr int64_t kFirstOpset = 18;
inline constexpr int64_t kLastOpset = 23;

// The dtype of values in the file: bfloat16 is computed in float32, since hardly any runtime has
// kernels for it.
inline DType exported_dtype(DType dtype) {
  return dtype == DType::BFloat16 ? DType::Float32 : dtype;
}
// The corresponding TensorProto.DataType.
int64_t data_type(DType dtype);

// Encode AttributeProtos of a node, to be concatenated: integer("axis", 1) + integers("pads",
// pads).
std::string integer(std::string_view name, int64_t value);
std::string text(std::string_view name, std::string_view value);
std::string integers(std::string_view name, const std::vector<int64_t>& values);
std::string texts(std::string_view name, const std::vector<std::string>& values);

struct ProtoNode {
  std::string op_type;
  std::string name;
  std::vector<std::string> inputs;  // "": omitted
  std::vector<std::string> outputs;
  std::string attributes;
};

// A graph's input or output. A size is a number or the name of an open axis; "": unspecified.
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

// Encodes a graph as a node's attribute: a loop body or a branch. It has no initializers of its
// own.
std::string subgraph(std::string_view name, const ProtoGraph& graph);

// Where the bytes of initializers are stored: in the file, which protobuf limits to 2 GiB, or in a
// separate file whose name is stored in the main file (TensorProto.external_data).
struct TensorStorage {
  std::string location = {};  // name of the external data file, in the same directory
  // None: if the initializers exceed `whole` bytes in total.
  std::optional<bool> external = {};
  int64_t threshold = 1024;           // bytes; smaller tensors stay in the file
  uint64_t whole = 1'500'000'000;     // bytes
  uint64_t limit = (1ULL << 31) - 1;  // maximum size of the file itself
};

// Two files, as pieces to be written one after another. Bytes of tensors aren't copied.
struct EncodedModel {
  EncodedModel() = default;
  EncodedModel(EncodedModel&&) = default;  // pieces stay valid
  EncodedModel& operator=(EncodedModel&&) = default;

  using Pieces = std::vector<std::span<const std::byte>>;
  Pieces file;  // a ModelProto
  Pieces data;  // of initializers; empty: not needed

  // Storage of the pieces.
  std::deque<std::string> texts;
  std::vector<Tensor> tensors;
};

// Throws ResourceExhausted, naming `title` and the sizes, for a file larger than `storage.limit`,
// and InvalidArgument for a location that isn't UTF-8.
EncodedModel encode_model(const ProtoGraph& graph, int64_t opset, std::string_view title,
                          const TensorStorage& storage);

}  // namespace cornu::onnx
