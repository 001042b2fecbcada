// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/call_message.h"

#include <algorithm>
#include <cstring>

#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kReferredTo = size_t{64} << 10;
constexpr size_t kMaxBytes = (size_t{1} << 32) - (1 << 20);  // gRPC's lengths have 32 bits

grpc::Slice slice_of(const Tensor& tensor) {
  if (tensor.bytes() < kReferredTo) return grpc::Slice(tensor.raw(), tensor.bytes());
  auto* held = new Tensor(tensor);  // until gRPC has sent it
  return grpc::Slice(
      const_cast<std::byte*>(held->raw()), held->bytes(),
      [](void* data) { delete static_cast<Tensor*>(data); }, held);
}

// Reads slices as one sequence of bytes.
class Slices {
 public:
  explicit Slices(const grpc::ByteBuffer& bytes) {
    check<DataLoss>(bytes.Dump(&slices_).ok(), "Call: its bytes can't be read.");
    for (const grpc::Slice& slice : slices_) left_ += slice.size();
  }
  size_t left() const { return left_; }

  void read(void* to, size_t count) {
    check<DataLoss>(count <= left_, "Call: expected {} bytes more, got {}.", count, left_);
    left_ -= count;
    auto* place = static_cast<std::byte*>(to);
    while (count > 0) {
      const grpc::Slice& slice = slices_[slice_];
      const size_t part = std::min(count, slice.size() - offset_);
      std::memcpy(place, slice.begin() + offset_, part);
      place += part;
      count -= part;
      offset_ += part;
      if (offset_ == slice.size()) {
        ++slice_;
        offset_ = 0;
      }
    }
  }

 private:
  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;
  size_t offset_ = 0;
  size_t left_ = 0;
};

Tensor read_tensor(Slices& slices, const Json& type) {
  const Shape shape = type[1].as_shape();
  const DType dtype = dtype_from_string(type[0].as_string());
  check<InvalidArgument>(dtype != DType::String && shape.is_static(),
                         "expected numbers of a known shape, got {} {}.", dtype, shape);
  const size_t bytes = shape.num_bytes(size_of(dtype));
  check<DataLoss>(bytes <= slices.left(), "Call: expected {} bytes of a tensor, got {}.", bytes,
                  slices.left());
  Tensor tensor = Tensor::empty(shape, dtype);
  if (bytes > 0) slices.read(tensor.mutable_raw(), bytes);
  return tensor;
}

}  // namespace

grpc::ByteBuffer to_bytes(const CallMessage& message) {
  Json types = Json::array();
  size_t bytes = 0;
  for (const Tensor& tensor : message.tensors) {
    check<InvalidArgument>(tensor.defined() && tensor.dtype() != DType::String,
                           "Call: tasks send each other tensors of numbers, got {}.", tensor);
    types.push_back(Json::array({to_string(tensor.dtype()), tensor.shape()}));
    bytes += tensor.bytes();
  }
  const std::string head = Json::array({message.json, types}).dump();
  check<ResourceExhausted>(bytes + head.size() < kMaxBytes,
                           "Call: a message of {} bytes is too large: it may have 4 GiB. Use more "
                           "parameter servers, or divide large variables among them "
                           "(variable_partitioner).",
                           bytes + head.size());
  std::string begin;
  for (size_t i = 0; i < kLengthBytes; ++i) begin += static_cast<char>(head.size() >> (8 * i));
  std::vector<grpc::Slice> slices = {grpc::Slice(begin + head)};
  for (const Tensor& tensor : message.tensors) {
    if (tensor.bytes() > 0) slices.push_back(slice_of(tensor.host()));
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

CallMessage parse_call(const grpc::ByteBuffer& bytes) {
  Slices slices(bytes);
  unsigned char length[kLengthBytes];
  slices.read(length, kLengthBytes);
  size_t size = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) size |= size_t{length[i]} << (8 * i);
  check<DataLoss>(size <= slices.left(), "Call: expected a head of {} bytes, got {}.", size,
                  slices.left());
  std::string head(size, '\0');
  slices.read(head.data(), size);
  CallMessage message;
  try {
    const Json parsed = Json::parse(head);
    message.json = parsed[0];
    check<InvalidArgument>(message.json.is_object(), "expected an object, got {}.",
                           message.json.excerpt());
    for (const Json& type : parsed[1].as_array()) {
      message.tensors.push_back(read_tensor(slices, type));
    }
  } catch (const Error& error) {
    raise<DataLoss>("Call: expected an object and types of tensors: {}", error.what());
  }
  check<DataLoss>(slices.left() == 0, "Call: {} bytes are left over.", slices.left());
  return message;
}

}  // namespace cornu::distribute
