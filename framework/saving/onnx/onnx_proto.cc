// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/onnx_proto.h"

#include <utility>

#include "framework/core/proto_wire.h"
#include "framework/core/strings.h"
#include "framework/core/utf8.h"

namespace cornu::onnx {
namespace {

using wire::put_bytes;
using wire::put_int;

// AttributeProto.AttributeType
enum AttributeType { kInt = 2, kString = 3, kGraph = 5, kInts = 7, kStrings = 8 };

std::string attribute(std::string_view name, AttributeType type, std::string_view fields) {
  std::string message;
  put_bytes(message, 1, name);
  message += fields;
  put_int(message, 20, type);
  std::string result;
  put_bytes(result, 5, message);  // NodeProto.attribute
  return result;
}

// IR versions by operator set, as paired in onnx's releases.
int64_t ir_version(int64_t opset) {
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  return opset >= 19 ? 9 : 8;
}

std::string encode(const ProtoNode& node) {
  std::string message;
  for (const std::string& input : node.inputs) put_bytes(message, 1, input);
  for (const std::string& output : node.outputs) put_bytes(message, 2, output);
  put_bytes(message, 3, node.name);
  put_bytes(message, 4, node.op_type);
  return message + node.attributes;
}

std::string encode(const ProtoValue& value) {
  std::string shape;
  for (const auto& size : value.sizes) {
    std::string dim;
    if (const int64_t* fixed = std::get_if<int64_t>(&size)) {
      put_int(dim, 1, *fixed);
    } else if (const auto& symbol = std::get<std::string>(size); !symbol.empty()) {
      put_bytes(dim, 2, symbol);
    }
    put_bytes(shape, 1, dim);
  }
  std::string tensor;
  put_int(tensor, 1, data_type(value.dtype));
  put_bytes(tensor, 2, shape);
  std::string type;
  put_bytes(type, 1, tensor);
  std::string message;
  put_bytes(message, 1, value.name);
  put_bytes(message, 2, type);
  return message;
}

// Encodes a graph without its initializers.
std::string encode_rest(const ProtoGraph& graph) {
  std::string message;
  for (const ProtoNode& node : graph.nodes) put_bytes(message, 1, encode(node));
  put_bytes(message, 2, graph.name);
  for (const ProtoValue& input : graph.inputs) put_bytes(message, 11, encode(input));
  for (const ProtoValue& output : graph.outputs) put_bytes(message, 12, encode(output));
  return message;
}

// Encodes a TensorProto without its elements.
std::string encode_head(const ProtoTensor& tensor) {
  std::string head;
  for (const int64_t size : tensor.value.shape()) put_int(head, 1, size);
  put_int(head, 2, data_type(tensor.value.dtype()));
  put_bytes(head, 8, tensor.name);
  return head;
}

void put_entry(std::string& message, std::string_view key, std::string_view value) {
  std::string entry;  // StringStringEntryProto
  put_bytes(entry, 1, key);
  put_bytes(entry, 2, value);
  put_bytes(message, 13, entry);  // TensorProto.external_data
}

// Stores initializers in the file or in external data.
class Initializers {
 public:
  explicit Initializers(const TensorStorage& storage) : storage_(storage) {}

  void add(const ProtoTensor& tensor, bool external) {
    std::string message = encode_head(tensor);
    const std::span bytes(tensor.value.raw(), tensor.value.bytes());
    if (external && goes_beside(tensor.value)) {
      put_beside(message, bytes);
      add_field(message, {});
    } else if (bytes.empty()) {
      add_field(message, {});  // onnx's checker rejects empty raw_data
    } else {
      wire::put_tag(message, 9, wire::Type::Bytes);  // TensorProto.raw_data
      wire::put_varint(message, bytes.size());
      add_field(message, bytes);
    }
    model_.tensors.push_back(tensor.value);
  }

  uint64_t bytes() const { return bytes_; }  // of the fields added
  // Pieces of the file contain the fields; `head` goes before and `rest` after them.
  EncodedModel finish(std::string head, std::string rest) && {
    model_.file.insert(model_.file.begin(), piece(std::move(head)));
    model_.file.push_back(piece(std::move(rest)));
    return std::move(model_);
  }

 private:
  std::span<const std::byte> piece(std::string text) {
    const std::string& kept = model_.texts.emplace_back(std::move(text));
    return std::as_bytes(std::span(kept));
  }

  // Short integer lists may be shapes, from which onnx infers others: they stay in the file.
  bool goes_beside(const Tensor& value) const {
    constexpr size_t kShapes = 1024;  // bytes
    if (value.dtype() == DType::Int64 && value.bytes() < kShapes) return false;
    return value.bytes() > 0 && static_cast<int64_t>(value.bytes()) >= storage_.threshold;
  }

  // Adds a GraphProto.initializer field: a message that ends with these bytes.
  void add_field(const std::string& message, std::span<const std::byte> bytes) {
    std::string field;
    wire::put_tag(field, 5, wire::Type::Bytes);
    wire::put_varint(field, message.size() + bytes.size());
    field += message;
    bytes_ += field.size() + bytes.size();
    model_.file.push_back(piece(std::move(field)));
    if (!bytes.empty()) model_.file.push_back(bytes);
  }

  void put_beside(std::string& message, std::span<const std::byte> bytes) {
    // Aligned to pages, as the format recommends, so that readers can map it.
    constexpr uint64_t kPage = 4096;
    if (const uint64_t over = offset_ % kPage; over != 0) {
      model_.data.push_back(piece(std::string(kPage - over, '\0')));
      offset_ += kPage - over;
    }
    put_entry(message, "location", storage_.location);
    put_entry(message, "offset", std::to_string(offset_));
    put_entry(message, "length", std::to_string(bytes.size()));
    put_int(message, 14, 1);  // TensorProto.data_location: EXTERNAL
    model_.data.push_back(bytes);
    offset_ += bytes.size();
  }

  const TensorStorage& storage_;
  EncodedModel model_;
  uint64_t bytes_ = 0;
  uint64_t offset_ = 0;  // end of the external data
};

bool is_external(const ProtoGraph& graph, const TensorStorage& storage) {
  uint64_t total = 0;
  for (const ProtoTensor& tensor : graph.initializers) total += tensor.value.bytes();
  const bool external = storage.external.value_or(total > storage.whole);
  check<InvalidArgument>(!external || is_utf8(storage.location),
                         "ONNX: the name of a file of external data must be UTF-8, got '{}'. Name "
                         "the model's file otherwise.",
                         printable(storage.location));
  return external;
}

}  // namespace

int64_t data_type(DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return 1;
    case DType::UInt8:
      return 2;
    case DType::Int8:
      return 3;
    case DType::Int32:
      return 6;
    case DType::Int64:
      return 7;
    case DType::Bool:
      return 9;
    case DType::Float16:
      return 10;
    case DType::Float64:
      return 11;
    case DType::UInt32:
      return 12;
    case DType::UInt64:
      return 13;
    default:
      raise<Unimplemented>("ONNX: no tensors of dtype {} are written.", dtype);
  }
}

std::string integer(std::string_view name, int64_t value) {
  std::string fields;
  put_int(fields, 3, value);
  return attribute(name, kInt, fields);
}

std::string text(std::string_view name, std::string_view value) {
  std::string fields;
  put_bytes(fields, 4, value);
  return attribute(name, kString, fields);
}

std::string integers(std::string_view name, const std::vector<int64_t>& values) {
  std::string fields;
  for (const int64_t value : values) put_int(fields, 8, value);
  return attribute(name, kInts, fields);
}

std::string texts(std::string_view name, const std::vector<std::string>& values) {
  std::string fields;
  for (const std::string& value : values) put_bytes(fields, 9, value);
  return attribute(name, kStrings, fields);
}

std::string subgraph(std::string_view name, const ProtoGraph& graph) {
  CORNU_ASSERT(graph.initializers.size(), ==, 0u);
  std::string fields;
  put_bytes(fields, 6, encode_rest(graph));
  return attribute(name, kGraph, fields);
}

EncodedModel encode_model(const ProtoGraph& graph, int64_t opset, std::string_view title,
                          const TensorStorage& storage) {
  std::string version;
  put_bytes(version, 1, "");
  put_int(version, 2, opset);
  std::string head;
  put_int(head, 1, ir_version(opset));
  put_bytes(head, 2, "cornu");
  put_bytes(head, 8, version);

  const bool external = is_external(graph, storage);
  Initializers initializers(storage);
  for (const ProtoTensor& tensor : graph.initializers) initializers.add(tensor, external);
  std::string rest = encode_rest(graph);
  const uint64_t total = rest.size() + initializers.bytes();
  wire::put_tag(head, 7, wire::Type::Bytes);  // ModelProto.graph
  wire::put_varint(head, total);
  check<ResourceExhausted>(head.size() + total <= storage.limit,
                           "{}: an ONNX file of one piece holds at most {} bytes, but this model "
                           "takes {}. {}",
                           title, storage.limit, head.size() + total,
                           external ? "Export it in parts, models of some of its layers each."
                                    : "Export it with .save_as_external_data = true, which puts "
                                      "its weights into a file of their own.");
  return std::move(initializers).finish(std::move(head), std::move(rest));
}

}  // namespace cornu::onnx
