// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/onnx_proto.h"

#include "framework/io/proto_wire.h"

namespace cornu::onnx {
namespace {

using wire::put_bytes;
using wire::put_int;

// AttributeProto.AttributeType
enum AttributeType { kFloat = 1, kInt = 2, kString = 3, kGraph = 5, kInts = 7, kStrings = 8 };

std::string attribute(std::string_view name, AttributeType type, std::string_view fields) {
  std::string message;
  put_bytes(message, 1, name);
  message += fields;
  put_int(message, 20, type);
  std::string result;
  put_bytes(result, 5, message);  // NodeProto.attribute
  return result;
}

// IR versions by operator set, as onnx's releases pair them.
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

// A graph without its initializers.
std::string encode_rest(const ProtoGraph& graph) {
  std::string message;
  for (const ProtoNode& node : graph.nodes) put_bytes(message, 1, encode(node));
  put_bytes(message, 2, graph.name);
  for (const ProtoValue& input : graph.inputs) put_bytes(message, 11, encode(input));
  for (const ProtoValue& output : graph.outputs) put_bytes(message, 12, encode(output));
  return message;
}

// A TensorProto up to its raw_data, which is `bytes` long and comes after it.
std::string encode_head(const ProtoTensor& tensor, uint64_t bytes) {
  std::string head;
  for (const int64_t size : tensor.value.shape()) put_int(head, 1, size);
  put_int(head, 2, data_type(tensor.value.dtype()));
  put_bytes(head, 8, tensor.name);
  wire::put_tag(head, 9, wire::Type::Bytes);
  wire::put_varint(head, bytes);
  return head;
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

std::string number(std::string_view name, float value) {
  std::string fields;
  wire::put_tag(fields, 2, wire::Type::Fixed32);
  fields.append(reinterpret_cast<const char*>(&value), sizeof(value));
  return attribute(name, kFloat, fields);
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

std::string encode_model(const ProtoGraph& graph, int64_t opset, std::string_view title,
                         uint64_t limit) {
  std::string version;
  put_bytes(version, 1, "");
  put_int(version, 2, opset);
  std::string head;
  put_int(head, 1, ir_version(opset));
  put_bytes(head, 2, "cornu");
  put_bytes(head, 8, version);

  const std::string rest = encode_rest(graph);
  std::vector<std::string> heads;
  uint64_t total = rest.size();
  for (const ProtoTensor& tensor : graph.initializers) {
    const uint64_t bytes = tensor.value.bytes();
    const std::string own = encode_head(tensor, bytes);
    std::string begin;
    wire::put_tag(begin, 5, wire::Type::Bytes);  // GraphProto.initializer
    wire::put_varint(begin, own.size() + bytes);
    heads.push_back(begin + own);
    total += heads.back().size() + bytes;
  }
  wire::put_tag(head, 7, wire::Type::Bytes);  // ModelProto.graph
  wire::put_varint(head, total);
  check<ResourceExhausted>(head.size() + total <= limit,
                           "{}: an ONNX file of one piece holds at most {} bytes, but this model "
                           "takes {}. Export it in parts, models of some of its layers each.",
                           title, limit, head.size() + total);
  std::string file;
  file.reserve(head.size() + total);
  file += head;
  for (size_t i = 0; i < heads.size(); ++i) {
    const Tensor& value = graph.initializers[i].value;
    file += heads[i];
    file.append(reinterpret_cast<const char*>(value.raw()), value.bytes());
  }
  return file += rest;
}

}  // namespace cornu::onnx
