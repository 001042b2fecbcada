// SPDX-License-Identifier: Apache-2.0
#include "data/readers/element_file.h"

#include <bit>
#include <cstring>

#include "data/serialization/link.h"
#include "framework/io/tf_record.h"

namespace cornu::data {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr const char* kFormat = "cornu elements 1";
constexpr const char* kAdvice =
    "The file was damaged or changed: delete it, so that it is created again.";
// The first byte of a record.
constexpr char kIsElement = 'e';
constexpr char kIsEnd = '.';

template <class T>
void append(std::string& bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

void append_values(std::string& bytes, const Tensor& tensor) {
  if (tensor.dtype() != DType::String) {
    bytes.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
    return;
  }
  for (const std::string& text : tensor.data<std::string>()) {
    append(bytes, uint64_t{text.size()});
    bytes += text;
  }
}

struct Damage {
  std::string what;
};

class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes) : left_(bytes) {}

  std::string_view take(uint64_t count) {
    if (count > left_.size()) {
      throw Damage{fmt::format("{} bytes were expected, {} are left", count, left_.size())};
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
};

// Reads a shape, verifying that it conforms to the type and that there are enough bytes for it.
Shape read_shape(RecordReader& reader, const TensorType& type) {
  const auto rank = reader.number<uint32_t>();
  if (rank != type.shape.rank()) {
    throw Damage{fmt::format("a rank of {} was expected, got {}", type.shape.rank(), rank)};
  }
  std::vector<int64_t> axes;
  // At least one byte per element; for strings, their lengths.
  const uint64_t unit = type.dtype == DType::String ? 8 : size_of(type.dtype);
  uint64_t most = reader.left() / unit;
  bool empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    const auto size = reader.number<int64_t>();
    const int64_t expected = type.shape[i];
    if (size < 0 || (expected != kUnknown && size != expected)) {
      throw Damage{fmt::format("axis {} was expected to be {}, got {}", i,
                               expected == kUnknown ? "some size" : std::to_string(expected),
                               size)};
    }
    axes.push_back(size);
    empty = empty || size == 0;
  }
  for (const int64_t size : axes) {
    if (empty) break;
    most /= static_cast<uint64_t>(size);
    if (most == 0) throw Damage{"a tensor was expected to have fewer elements than it claims"};
  }
  return Shape(axes);
}

Tensor read_tensor(RecordReader& reader, const TensorType& type) {
  Tensor tensor = Tensor::empty(read_shape(reader, type), type.dtype);
  if (type.dtype == DType::String) {
    for (std::string& text : tensor.mutable_data<std::string>()) {
      text = reader.take(reader.number<uint64_t>());
    }
  } else if (tensor.bytes() > 0) {
    const std::string_view values = reader.take(tensor.bytes());
    if (type.dtype == DType::Bool &&
        values.find_first_not_of(std::string_view("\0\1", 2)) != std::string_view::npos) {
      throw Damage{"bools were expected to be 0 or 1"};
    }
    std::memcpy(tensor.mutable_raw(), values.data(), values.size());
  }
  return tensor;
}

}  // namespace

ElementFileWriter::ElementFileWriter(const std::string& path, Compression compression,
                                     const ElementSpec& spec, const std::string& pipeline,
                                     const std::string& seeds, Appears appears)
    : file_(path, compression, {}, appears), spec_(spec) {
  Blobs none;
  LinkWriter header(&none);
  header("format", kFormat)("element_spec", spec)("pipeline", pipeline);
  if (!seeds.empty()) header("seeds", seeds);
  write_record(header.config().dump());
}

void ElementFileWriter::write(const Element& element) {
  check<Internal>(spec_.admits(element), "expected an element of the kind {}, got {}.", spec_,
                  spec_of(element));
  std::string record(1, kIsElement);
  for (const Tensor& tensor : element.tensors()) {
    const Tensor values = tensor.host();
    append(record, static_cast<uint32_t>(values.rank()));
    for (int64_t i = 0; i < values.rank(); ++i) append(record, values.dim(i));
    append_values(record, values);
  }
  write_record(record);
  ++count_;
}

void ElementFileWriter::close() {
  std::string end(1, kIsEnd);
  append(end, count_);
  write_record(end);
  file_.close();
}

void ElementFileWriter::write_record(std::string_view record) {
  file_.write(tf_record_header(record.size()));
  file_.write(record);
  file_.write(tf_record_footer(record));
}

ElementFileReader::ElementFileReader(const std::string& path, Compression compression)
    : path_(path), records_(path, compression, {}, kAdvice) {
  check<DataLoss>(records_.next(record_),
                  "{}: expected elements that were saved, the file is empty.", path);
  try {
    const Json header = Json::parse(record_);
    check<DataLoss>(header.find("format") && *header.find("format") == Json(kFormat),
                    "expected the format '{}'.", kFormat);
    const Blobs none;
    BlobReader blobs(none);
    LinkReader link(header, {}, blobs, record_.size());
    spec_ = link.get<ElementSpec>("element_spec");
    pipeline_ = link.get<std::string>("pipeline");
    if (header.contains("seeds")) seeds_ = link.get<std::string>("seeds");
  } catch (const Error& error) {
    raise<DataLoss>("{}: this is no file of elements that were saved: {}", path, error.what());
  }
}

bool ElementFileReader::read_record() {
  if (ended_) return false;
  check<DataLoss>(records_.next(record_) && !record_.empty(),
                  "{}: the file is cut off after {} elements.", path_, count_);
  if (record_.front() == kIsElement) return true;
  RecordReader reader(std::string_view(record_).substr(1));
  check<DataLoss>(record_.front() == kIsEnd && reader.left() == sizeof(count_) &&
                      reader.number<int64_t>() == count_,
                  "{}: the end of the file was expected to count {} elements.", path_, count_);
  ended_ = true;
  return false;
}

bool ElementFileReader::next(Element& element) {
  if (!next_record()) return false;
  const int64_t number = count_++;
  RecordReader reader(std::string_view(record_).substr(1));
  try {
    std::vector<Tensor> tensors;
    for (const TensorType& type : spec_.types) tensors.push_back(read_tensor(reader, type));
    if (reader.left() > 0) throw Damage{fmt::format("{} bytes are left over", reader.left())};
    element = Element(std::move(tensors), spec_.structure);
  } catch (const Damage& damage) {
    raise<DataLoss>("{}: element {} is damaged: {}.", path_, number, damage.what);
  }
  return true;
}

bool ElementFileReader::skip() {
  if (!next_record()) return false;
  ++count_;
  return true;
}

}  // namespace cornu::data
