// SPDX-License-Identifier: Apache-2.0
// The raw contents of an ONNX file: nodes, values and tensors, checked only for their form.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::onnx::reading {

struct FileGraph;

// AttributeProto. Members not used by its kind are empty.
struct FileAttribute {
  enum class Kind { None, Number, Integer, Text, Tensor, Graph, Numbers, Integers, Texts, Other };

  std::string name;
  Kind kind = Kind::None;
  float number = 0;
  int64_t integer = 0;
  std::string text;
  Tensor tensor;
  std::shared_ptr<const FileGraph> graph;  // null if it is nested too deeply
  std::vector<float> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
};

// NodeProto.
struct FileNode {
  std::string op;
  std::string domain;
  std::string name;
  std::vector<std::string> inputs;  // "": omitted
  std::vector<std::string> outputs;
  std::vector<FileAttribute> attributes;
  std::string_view bytes;  // the encoded attributes
};

// ValueInfoProto of a tensor. A size is a number or the name of an open axis; "": unspecified.
struct FileValue {
  using Size = std::variant<int64_t, std::string>;

  std::string name;
  int64_t data_type = 0;                   // 0: not a tensor
  std::optional<std::vector<Size>> sizes;  // nullopt: the rank is unknown
};

// GraphProto: of the model, or of a branch or loop.
struct FileGraph {
  std::vector<FileNode> nodes;
  std::unordered_map<std::string, Tensor> initializers;
  std::vector<FileValue> inputs;  // excluding initializers
  std::vector<FileValue> outputs;
};

struct OnnxFile : FileGraph {
  std::string path;
  int64_t opset = 0;                   // of ONNX's own operators
  uint64_t bytes = 0;                  // including external files with tensors
  std::shared_ptr<const void> memory;  // keeps texts and tensors alive
};

// The limit, in bytes, of what may be created from a file of this size in addition to its tensors:
// for its nodes, and again for the constants they compute with, counted each time.
constexpr uint64_t most_made_of(uint64_t bytes) { return (uint64_t{64} << 20) + 16 * bytes; }

// The dtype for TensorProto.DataType `type`; nullopt if Cornu doesn't have it.
std::optional<DType> dtype_of_type(int64_t type);

// Reads a ModelProto. Tensors may be in other files in the same directory. Throws the errors of
// FileReader; DataLoss, with the location, for a damaged file; Unimplemented for sparse tensors and
// those of dtypes that Cornu doesn't have; InvalidArgument for data in a file elsewhere.
OnnxFile read_onnx_file(const std::string& path);

}  // namespace cornu::onnx::reading
