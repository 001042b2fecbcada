// SPDX-License-Identifier: Apache-2.0
// Converts the values of a link's config to and from JSON.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "data/serialization/link.h"
#include "framework/core/hex.h"
#include "framework/core/strings.h"
#include "framework/core/utf8.h"
#include "framework/io/hash.h"
#include "framework/io/tensor_checksum.h"

namespace cornu::data {
namespace {

constexpr size_t kMaxInline = size_t{64} << 10;  // maximum bytes of a tensor within the text

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A description of the tensor that precedes its bytes in a blob: "float32 2 3\n".
std::string blob_header(const Tensor& tensor) {
  return fmt::format("{} {}\n", tensor.dtype(), fmt::join(tensor.shape().dims(), " "));
}

// Strings are preceded by their lengths, 8 bytes each.
std::string blob_of(const Tensor& tensor) {
  std::string blob = blob_header(tensor);
  if (tensor.dtype() != DType::String) {
    return blob.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
  }
  for (const std::string& text : tensor.data<std::string>()) {
    const uint64_t size = text.size();
    blob.append(reinterpret_cast<const char*>(&size), sizeof(size));
    blob += text;
  }
  return blob;
}

size_t size_of_values(const Tensor& tensor) {
  if (tensor.dtype() != DType::String) return tensor.bytes();
  size_t size = 0;
  for (const std::string& text : tensor.data<std::string>()) size += text.size() + sizeof(uint64_t);
  return size;
}

// The type and a checksum of the values; up to four numbers are included as they are. For strings,
// which may be paths, only the part after the last slash counts.
Json comparable(const Tensor& tensor) {
  const bool is_text = tensor.dtype() == DType::String;
  if (!is_text && tensor.num_elements() <= 4) {
    return Json::object({{"values", tensor.to_string()}});
  }
  std::string sum;
  if (is_text) {
    std::string names;
    for (const std::string& text : tensor.data<std::string>()) {
      names += text.substr(text.rfind('/') + 1) + '\0';  // npos + 1 is 0
    }
    sum = hash_of(bytes_of(names), HashAlgorithm::Sha256);
  } else {
    sum = checksum_of_values(tensor);
  }
  return Json::object(
      {{"dtype", to_string(tensor.dtype())}, {"shape", tensor.shape()}, {"checksum", sum}});
}

[[noreturn]] void no_tensor(const std::string& key) {
  raise<DataLoss>("the blob {} is damaged: it holds no tensor.", key);
}

TensorType type_in_header(std::string_view header, const std::string& key) {
  const auto word = [&header] {
    const std::string_view first = header.substr(0, header.find(' '));
    header.remove_prefix(std::min(header.size(), first.size() + 1));
    return first;
  };
  TensorType type{dtype_from_string(word()), {}};
  while (!header.empty()) {
    const std::string_view digits = word();
    int64_t size = -1;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (read.ptr != digits.data() + digits.size() || read.ec != std::errc() || size < 0) {
      no_tensor(key);
    }
    type.shape.push_back(size);
  }
  return type;
}

// Whether all bytes are 0 or 1, the valid bools; true for other dtypes.
bool has_only_bools(const Tensor& tensor) {
  return tensor.dtype() != DType::Bool ||
         std::all_of(tensor.raw(), tensor.raw() + tensor.bytes(),
                     [](std::byte value) { return value <= std::byte{1}; });
}

// The number of elements never exceeds the number of bytes.
Tensor tensor_of_blob(std::string_view blob, const std::string& key) {
  const size_t end = blob.substr(0, 1024).find('\n');
  if (end == std::string_view::npos) no_tensor(key);
  const TensorType type = type_in_header(blob.substr(0, end), key);
  blob.remove_prefix(end + 1);
  if (type.dtype != DType::String) {
    if (type.bytes() != blob.size()) no_tensor(key);
    Tensor tensor = Tensor::empty(type.shape, type.dtype);
    if (!blob.empty()) std::memcpy(tensor.mutable_raw(), blob.data(), blob.size());
    if (!has_only_bools(tensor)) no_tensor(key);
    return tensor;
  }
  uint64_t size = 0;
  if (static_cast<size_t>(type.shape.num_elements()) > blob.size() / sizeof(size)) no_tensor(key);
  Tensor tensor = Tensor::empty(type.shape, type.dtype);
  for (std::string& text : tensor.mutable_data<std::string>()) {
    if (blob.size() < sizeof(size)) no_tensor(key);
    std::memcpy(&size, blob.data(), sizeof(size));
    blob.remove_prefix(sizeof(size));
    if (size > blob.size()) no_tensor(key);
    text = blob.substr(0, size);
    blob.remove_prefix(size);
  }
  if (!blob.empty()) no_tensor(key);
  return tensor;
}

std::shared_ptr<const Structure> shared(Structure structure) {
  return std::make_shared<const Structure>(std::move(structure));
}

const Json& part_of(const Json& json, const char* key) {
  check<InvalidArgument>(json.is_object() && json.contains(key), "expected '{}' in {}.", key,
                         json.excerpt());
  return *json.find(key);
}

void require_tensors(const Structure& structure, size_t count) {
  check<InvalidArgument>(count > 0 && structure.num_tensors() == count,
                         "expected a structure of {} tensors, got {}.", count,
                         structure.num_tensors());
}

}  // namespace

// Text that isn't valid UTF-8 can't be stored in JSON and is written as hexadecimal digits.
Json LinkWriter::to_json(const std::string& value) {
  if (is_utf8(value)) return value;
  return Json::object({{"hex", to_hex(bytes_of(value))}});
}

Json LinkWriter::to_json(const Tensor& value) {
  if (!value.defined()) return {};
  const Tensor tensor = value.host();
  if (!blobs_) return comparable(tensor);
  if (size_of_values(tensor) > kMaxInline) {
    std::string blob = blob_of(tensor);
    std::string key = hash_of(bytes_of(blob), HashAlgorithm::Sha256);
    blobs_->emplace(key, std::move(blob));
    return Json::object({{"blob", key}});
  }
  Json json = Json::object({{"dtype", to_string(tensor.dtype())}, {"shape", tensor.shape()}});
  if (tensor.dtype() == DType::String) {
    json.set("strings", to_json(tensor.to_vector<std::string>()));
  } else {
    json.set("hex", to_hex({tensor.raw(), tensor.bytes()}));
  }
  return json;
}

// A tensor is represented by null, a tuple by a list, a dictionary by a list of pairs.
Json LinkWriter::to_json(const Structure& value) {
  if (value.kind() == Structure::Kind::Tensor) return {};
  Json children = Json::array();
  for (size_t i = 0; i < value.children().size(); ++i) {
    Json child = to_json(value.children()[i]);
    const bool named = value.kind() == Structure::Kind::Dict;
    children.push_back(named ? Json::array({to_json(value.names()[i]), child}) : child);
  }
  if (value.kind() == Structure::Kind::Tuple) return children;
  return Json::object({{"members", children}});
}

Json LinkWriter::to_json(const ElementSpec& value) {
  Json types = Json::array();
  for (const TensorType& type : value.types) {
    types.push_back(Json::array({to_json(type.dtype), to_json(type.shape)}));
  }
  return Json::object({{"types", types}, {"structure", to_json(*value.structure)}});
}

Json LinkWriter::to_json(const Element& value) {
  return Json::object(
      {{"tensors", to_json(value.tensors())}, {"structure", to_json(*value.structure())}});
}

const Tensor& BlobReader::at(const std::string& key) {
  if (const auto known = tensors_.find(key); known != tensors_.end()) return known->second;
  const auto blob = blobs_.find(key);
  check<DataLoss>(blob != blobs_.end(), "the blob {} is missing.", printable(key));
  check<DataLoss>(hash_of(bytes_of(blob->second), HashAlgorithm::Sha256) == key,
                  "the blob {} is damaged: its SHA-256 is another one.", key);
  return tensors_[key] = tensor_of_blob(blob->second, key);
}

const Json& LinkReader::member(const char* key) const { return part_of(config_, key); }

size_t LinkReader::number_of(const std::string& name, const std::vector<std::string>& names,
                             const char* key) {
  const auto at = std::find(names.begin(), names.end(), name);
  check<InvalidArgument>(at != names.end(), "expected a {} of '{}', got '{}'.", key,
                         join(names, "', '"), printable(name));
  return static_cast<size_t>(at - names.begin());
}

void LinkReader::read(const Json& json, std::string& value) {
  if (json.is_string()) {
    value = json.as_string();
    return;
  }
  const std::string& digits = part_of(json, "hex").as_string();
  value.resize(digits.size() / 2);
  check<InvalidArgument>(from_hex(digits, std::as_writable_bytes(std::span(value))),
                         "expected hexadecimal digits, got {}.", json.excerpt());
}

void LinkReader::read(const Json& json, Shape& value) {
  value = json.as_shape();
  for (const int64_t size : value) {
    check<InvalidArgument>(size >= 0 || size == kUnknown, "expected a shape, got {}.",
                           json.excerpt());
  }
}

void LinkReader::read(const Json& json, Tensor& value) {
  value = Tensor();
  if (json.is_null()) return;
  if (json.is_object() && json.contains("blob")) {
    value = blobs_.at(json.at("blob").as_string());
    return;
  }
  TensorType type;
  read(part_of(json, "dtype"), type.dtype);
  read(part_of(json, "shape"), type.shape);
  if (type.dtype == DType::String) {
    std::vector<std::string> texts;
    read(part_of(json, "strings"), texts);
    value = Tensor::from(texts, type.shape);
    return;
  }
  const std::string& digits = part_of(json, "hex").as_string();
  check<InvalidArgument>(type.bytes() == digits.size() / 2 && type.bytes() <= kMaxInline,
                         "expected the elements of a tensor of {} {}, got {}.", type.dtype,
                         type.shape, json.excerpt());
  value = Tensor::empty(type.shape, type.dtype);
  check<InvalidArgument>(from_hex(digits, {value.mutable_raw(), value.bytes()}),
                         "expected hexadecimal digits, got {}.", json.excerpt());
  check<InvalidArgument>(has_only_bools(value), "expected bools of 0 or 1, got {}.",
                         json.excerpt());
}

void LinkReader::read(const Json& json, Structure& value) {
  value = Structure();
  if (json.is_null()) return;
  if (json.is_array()) {
    std::vector<Structure> children;
    read(json, children);
    check<InvalidArgument>(!children.empty(), "expected a structure of tensors, got [].");
    value = Structure::tuple(std::move(children));
    return;
  }
  std::vector<std::pair<std::string, Structure>> members;
  for (const Json& member : part_of(json, "members").as_array()) {
    check<InvalidArgument>(member.is_array() && member.size() == 2,
                           "expected a name and a structure, got {}.", member.excerpt());
    read(member[0], members.emplace_back().first);
    read(member[1], members.back().second);
  }
  check<InvalidArgument>(!members.empty(), "expected a structure of tensors, got {{}}.");
  value = Structure::dict(std::move(members));
}

void LinkReader::read(const Json& json, ElementSpec& value) {
  value.types.clear();
  for (const Json& type : part_of(json, "types").as_array()) {
    check<InvalidArgument>(type.is_array() && type.size() == 2,
                           "expected a dtype and a shape, got {}.", type.excerpt());
    TensorType& own = value.types.emplace_back();
    read(type[0], own.dtype);
    read(type[1], own.shape);
  }
  Structure structure;
  read(part_of(json, "structure"), structure);
  require_tensors(structure, value.types.size());
  value.structure = shared(std::move(structure));
}

void LinkReader::read(const Json& json, Element& value) {
  std::vector<Tensor> tensors;
  read(part_of(json, "tensors"), tensors);
  for (const Tensor& tensor : tensors) {
    check<InvalidArgument>(tensor.defined(), "expected a tensor, got null.");
  }
  Structure structure;
  read(part_of(json, "structure"), structure);
  require_tensors(structure, tensors.size());
  value = Element(std::move(tensors), shared(std::move(structure)));
}

}  // namespace cornu::data
