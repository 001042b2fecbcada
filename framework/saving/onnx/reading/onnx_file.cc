// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/onnx_file.h"

#include <memory>
#include <utility>

#include "framework/core/strings.h"
#include "framework/io/file_reader.h"
#include "framework/saving/onnx/reading/file_tensors.h"
#include "framework/saving/onnx/reading/wire_numbers.h"

namespace cornu::onnx::reading {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 31;  // maximum size of a message
constexpr int kMaxDepth = 32;                      // of graphs in graphs

// The domain of ONNX's own operators has two names.
bool is_onnx(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

// Reads one file.
class ModelParser {
 public:
  ModelParser(const std::string& path, std::shared_ptr<Buffer> buffer)
      : text_(reinterpret_cast<const char*>(buffer->data()), buffer->bytes()),
        tensors_(path, buffer) {
    file_.path = path;
    file_.memory = std::move(buffer);
  }

  OnnxFile parse(size_t size) {
    text_ = text_.substr(0, size);
    left_ = most_made_of(size);
    try {
      read_model();
    } catch (const wire::Damage& damage) {
      raise<DataLoss>("'{}': byte {}: {}. The file is damaged, or no ONNX file.", file_.path,
                      damage.where - text_.data(), damage.what);
    }
    file_.bytes = text_.size() + tensors_.external_bytes();
    return std::move(file_);
  }

 private:
  using Reader = wire::Reader;
  using Type = wire::Type;

  void read_model() {
    std::optional<std::string_view> graph;
    each_field(text_, [&](uint32_t field, Reader& reader, Type type) {
      if (field == 7) graph = bytes(reader, type);
      if (field == 8) read_opset(bytes(reader, type));
      return field == 7 || field == 8;
    });
    check<DataLoss>(graph.has_value(), "'{}' has no graph. The file is damaged, or no ONNX file.",
                    file_.path);
    check<Unimplemented>(file_.opset > 0 || !has_others_,
                         "'{}' has only operators of domains other than ONNX's, which aren't read.",
                         file_.path);
    check<DataLoss>(file_.opset > 0, "'{}': it doesn't say which operator set of ONNX it is of.",
                    file_.path);
    read_graph(*graph, file_);
  }

  void read_opset(std::string_view message) {
    std::string_view domain;
    int64_t version = 0;
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      if (field == 1) domain = bytes(reader, type);
      if (field == 2) version = static_cast<int64_t>(number(reader, type));
      return field <= 2;
    });
    if (is_onnx(domain)) {
      file_.opset = version;
    } else {
      has_others_ = true;
    }
  }

  void read_graph(std::string_view message, FileGraph& graph) {
    std::vector<FileValue> inputs;
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      switch (field) {
        case 1:
          add(graph.nodes, node(bytes(reader, type)));
          return true;
        case 5:
          add_initializer(bytes(reader, type), graph);
          return true;
        case 11:
          add(inputs, value(bytes(reader, type)));
          return true;
        case 12:
          add(graph.outputs, value(bytes(reader, type)));
          return true;
        case 15:
          raise<Unimplemented>("'{}' has sparse tensors, which aren't read.", file_.path);
        default:
          return false;
      }
    });
    for (FileValue& input : inputs) {  // old files list weights among them
      if (!graph.initializers.contains(input.name)) graph.inputs.push_back(std::move(input));
    }
  }

  // The graph of a branch or loop; null if it is nested too deeply.
  std::shared_ptr<const FileGraph> inner_graph(std::string_view message) {
    if (depth_ == kMaxDepth) return nullptr;
    charge(sizeof(FileGraph));
    auto graph = std::make_shared<FileGraph>();
    ++depth_;
    read_graph(message, *graph);
    --depth_;
    return graph;
  }

  void add_initializer(std::string_view message, FileGraph& graph) {
    auto [name, tensor] = tensors_.read(message);
    check<DataLoss>(graph.initializers.emplace(name, tensor).second,
                    "'{}': two of its tensors are named '{}'.", file_.path, printable(name));
  }

  FileNode node(std::string_view message) {
    FileNode result;
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      switch (field) {
        case 1:
          add(result.inputs, std::string(bytes(reader, type)));
          return true;
        case 2:
          add(result.outputs, std::string(bytes(reader, type)));
          return true;
        case 3:
          result.name = std::string(bytes(reader, type));
          return true;
        case 4:
          result.op = std::string(bytes(reader, type));
          return true;
        case 5: {
          const std::string_view one = bytes(reader, type);
          add(result.attributes, attribute(one));
          const char* begin = result.bytes.empty() ? one.data() : result.bytes.data();
          result.bytes = {begin, static_cast<size_t>(one.data() + one.size() - begin)};
          return true;
        }
        case 7:
          result.domain = std::string(bytes(reader, type));
          return true;
        default:
          return false;
      }
    });
    if (is_onnx(result.domain)) result.domain.clear();
    return result;
  }

  static FileAttribute::Kind kind_of(uint64_t type) {
    using Kind = FileAttribute::Kind;
    static constexpr Kind kKinds[] = {Kind::None,    Kind::Number,   Kind::Integer,
                                      Kind::Text,    Kind::Tensor,   Kind::Graph,
                                      Kind::Numbers, Kind::Integers, Kind::Texts};
    return type < std::size(kKinds) ? kKinds[type] : Kind::Other;
  }

  FileAttribute attribute(std::string_view message) {
    FileAttribute result;
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      switch (field) {
        case 1:
          result.name = std::string(bytes(reader, type));
          return true;
        case 2:
          require_type(reader, type, Type::Fixed32);
          result.number = reader.fixed<float>();
          return true;
        case 3:
          result.integer = static_cast<int64_t>(number(reader, type));
          return true;
        case 4:
          result.text = std::string(bytes(reader, type));
          return true;
        case 5:
          result.tensor = tensors_.read(bytes(reader, type)).second;
          return true;
        case 6:
          result.graph = inner_graph(bytes(reader, type));
          return true;
        case 7:
          append_fixed<float>(reader, type, result.numbers);
          return true;
        case 8:
          for (const uint64_t element : varints(reader, type)) {
            result.integers.push_back(static_cast<int64_t>(element));
          }
          return true;
        case 9:
          add(result.texts, std::string(bytes(reader, type)));
          return true;
        case 20:
          result.kind = kind_of(number(reader, type));
          return true;
        default:
          return false;
      }
    });
    return result;
  }

  FileValue value(std::string_view message) {
    FileValue result;
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      if (field == 1) result.name = std::string(bytes(reader, type));
      if (field == 2) read_type(bytes(reader, type), result);
      return field <= 2;
    });
    return result;
  }

  // Reads a type's message, down to that of a tensor.
  void read_type(std::string_view message, FileValue& result) {
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      if (field == 1) read_tensor_type(bytes(reader, type), result);
      return field == 1;
    });
  }

  void read_tensor_type(std::string_view message, FileValue& result) {
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      if (field == 1) result.data_type = static_cast<int64_t>(number(reader, type));
      if (field == 2) read_sizes(bytes(reader, type), result.sizes.emplace());
      return field <= 2;
    });
  }

  void charge(size_t bytes) {
    check<ResourceExhausted>(bytes <= left_,
                             "'{}': its nodes take much more memory than it has bytes. The file is "
                             "damaged, or no ONNX file.",
                             file_.path);
    left_ -= bytes;
  }

  template <class T>
  void add(std::vector<T>& to, T element) {
    charge(sizeof(T));
    to.push_back(std::move(element));
  }

  void read_sizes(std::string_view message, std::vector<FileValue::Size>& sizes) {
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      if (field == 1) add(sizes, size(bytes(reader, type)));
      return field == 1;
    });
  }

  // Some files use -1 for unknown sizes.
  FileValue::Size size(std::string_view message) {
    FileValue::Size result = std::string();
    each_field(message, [&](uint32_t field, Reader& reader, Type type) {
      if (field == 1) {
        const auto fixed = static_cast<int64_t>(number(reader, type));
        if (fixed >= 0) result = fixed;
      } else if (field == 2) {
        result = std::string(bytes(reader, type));
      }
      return field <= 2;
    });
    return result;
  }

  std::string_view text_;
  uint64_t left_ = 0;        // remaining bytes for elements stored in messages
  int depth_ = 0;            // of graphs in graphs
  bool has_others_ = false;  // operator sets
  FileTensors tensors_;
  OnnxFile file_;
};

}  // namespace

std::optional<DType> dtype_of_type(int64_t type) {
  switch (type) {
    case 1:
      return DType::Float32;
    case 2:
      return DType::UInt8;
    case 3:
      return DType::Int8;
    case 6:
      return DType::Int32;
    case 7:
      return DType::Int64;
    case 9:
      return DType::Bool;
    case 10:
      return DType::Float16;
    case 11:
      return DType::Float64;
    case 12:
      return DType::UInt32;
    case 13:
      return DType::UInt64;
    case 16:
      return DType::BFloat16;
    default:
      return {};
  }
}

OnnxFile read_onnx_file(const std::string& path) {
  const size_t size = FileReader(path).size();
  check<ResourceExhausted>(
      size <= kMaxBytes,
      "'{}' has {} bytes; an ONNX file has at most {}, and larger weights are in separate files.",
      path, size, kMaxBytes);
  std::shared_ptr<Buffer> buffer = read_whole_file(path);
  return ModelParser(path, buffer).parse(size);
}

}  // namespace cornu::onnx::reading
