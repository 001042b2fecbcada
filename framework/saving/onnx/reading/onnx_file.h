// SPDX-License-Identifier: Apache-2.0
// An ONNX file as it is: nodes, values and tensors, of which nothing but their form is known.
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

// AttributeProto. What its kind hasn't is empty.
struct FileAttribute {
  enum class Kind { None, Number, Integer, Text, Tensor, Numbers, Integers, Texts, Other };

  std::string name;
  Kind kind = Kind::None;
  float number = 0;
  int64_t integer = 0;
  std::string text;
  Tensor tensor;
  std::vector<float> numbers;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
};

// NodeProto.
struct FileNode {
  std::string op;
  std::string domain;
  std::string name;
  std::vector<std::string> inputs;  // "": left out
  std::vector<std::string> outputs;
  std::vector<FileAttribute> attributes;
  std::string_view bytes;  // of the attributes, all that is said of them
};

// ValueInfoProto of a tensor. A size is a number or the name of an open axis; "": nothing is said.
struct FileValue {
  using Size = std::variant<int64_t, std::string>;

  std::string name;
  int64_t data_type = 0;                   // 0: it is no tensor
  std::optional<std::vector<Size>> sizes;  // none: not even their number is known
};

struct OnnxFile {
  std::string path;
  int64_t opset = 0;   // of ONNX's own operators
  uint64_t bytes = 0;  // of it and of the files beside it that it has tensors in
  std::vector<FileNode> nodes;
  std::unordered_map<std::string, Tensor> initializers;
  std::vector<FileValue> inputs;  // without those that are initializers
  std::vector<FileValue> outputs;
  std::shared_ptr<const void> memory;  // of the texts and tensors
};

// How many bytes may be made of a file of so many, beside its tensors: of its nodes, and again of
// the constants that these compute with, each as often as it is computed with.
constexpr uint64_t most_made_of(uint64_t bytes) { return (uint64_t{64} << 20) + 16 * bytes; }

// The dtype that TensorProto.DataType `type` is; none for one that Cornu doesn't have.
std::optional<DType> dtype_of_type(int64_t type);

// Reads a ModelProto. Tensors may be in files beside it, in the same folder.
// Errors: those of FileReader; DataLoss for a file that is damaged, saying where; Unimplemented for
// tensors of dtypes that Cornu doesn't have, and sparse ones; InvalidArgument for data in a file
// elsewhere.
OnnxFile read_onnx_file(const std::string& path);

}  // namespace cornu::onnx::reading
