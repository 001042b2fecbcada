// SPDX-License-Identifier: Apache-2.0
#include "cornu/core/tensor.h"

#include <algorithm>

namespace cornu {
namespace {

constexpr int64_t kPrintedElements = 6;

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype) {
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * size_of(dtype);
  return from_buffer(allocate_host(bytes), 0, shape, dtype);
}

Tensor Tensor::from(const std::vector<bool>& values, const Shape& shape) {
  check<InvalidArgument>(static_cast<int64_t>(values.size()) == shape.num_elements(),
                         "Tensor: expected {} values for shape {}, got {}.", shape.num_elements(),
                         shape, values.size());
  Tensor tensor = empty(shape, DType::Bool);
  std::copy(values.begin(), values.end(), tensor.mutable_data<bool>().begin());
  return tensor;
}

Tensor Tensor::from_buffer(std::shared_ptr<Buffer> buffer, size_t offset, const Shape& shape,
                           DType dtype) {
  CORNU_ASSERT(offset + static_cast<size_t>(shape.num_elements()) * size_of(dtype), <=,
               buffer->bytes());
  auto impl = std::make_shared<Impl>();
  impl->shape = shape;
  impl->dtype = dtype;
  impl->buffer = std::move(buffer);
  impl->offset = offset;
  return Tensor(std::move(impl));
}

Tensor Tensor::wrap(void* data, const Shape& shape, DType dtype,
                    std::shared_ptr<const void> owner) {
  const size_t bytes = static_cast<size_t>(shape.num_elements()) * size_of(dtype);
  return from_buffer(wrap_host(data, bytes, std::move(owner)), 0, shape, dtype);
}

Tensor Tensor::symbol(std::shared_ptr<SymbolOwner> owner, int64_t id, const Shape& shape,
                      DType dtype) {
  auto impl = std::make_shared<Impl>();
  impl->shape = shape;
  impl->dtype = dtype;
  impl->owner = std::move(owner);
  impl->symbol_id = id;
  return Tensor(std::move(impl));
}

Device Tensor::device() const { return impl().buffer ? impl().buffer->device() : Device{}; }

const std::byte* Tensor::raw() const {
  check<FailedPrecondition>(
      impl().owner == nullptr,
      "Tensor of shape {}: its value was asked for, but it is {}, which has none yet. Values can "
      "be read outside of traced code only.",
      shape(), impl().owner ? impl().owner->describe(impl().symbol_id) : std::string());
  return impl().buffer->data() + impl().offset;
}

std::byte* Tensor::mutable_raw() { return const_cast<std::byte*>(raw()); }

bool Tensor::is_unique() const {
  return impl_ && impl_.use_count() == 1 && impl_->buffer && impl_->buffer.use_count() == 1;
}

void Tensor::require_dtype(DType wanted) const {
  check<InvalidArgument>(dtype() == wanted,
                         "Tensor of shape {}: its elements are {}, but were asked for as {}. Use "
                         "ops::cast first.",
                         shape(), dtype(), wanted);
}

double Tensor::item_as_double() const {
  check<InvalidArgument>(shape().is_static() && num_elements() == 1,
                         "Tensor::item: expected exactly one element, got shape {}.", shape());
  const std::byte* data = raw();
  return dispatch_dtype(dtype(), [&](auto t) {
    decltype(t) value;
    std::memcpy(&value, data, sizeof(value));
    return static_cast<double>(value);
  });
}

int64_t Tensor::item_as_int() const {
  check<InvalidArgument>(shape().is_static() && num_elements() == 1,
                         "Tensor::item: expected exactly one element, got shape {}.", shape());
  const std::byte* data = raw();
  return dispatch_dtype(dtype(), [&](auto t) {
    decltype(t) value;
    std::memcpy(&value, data, sizeof(value));
    return static_cast<int64_t>(value);
  });
}

Tensor Tensor::with_shape(const Shape& shape) const {
  raw();  // values only
  CORNU_ASSERT(shape.num_elements(), ==, num_elements());
  return from_buffer(impl().buffer, impl().offset, shape, dtype());
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  raw();  // values only
  check<OutOfRange>(rank() > 0 && 0 <= begin && begin <= end && end <= shape().front(),
                    "Tensor::rows: expected a range within {} rows, got [{}, {}).",
                    rank() > 0 ? shape().front() : 0, begin, end);
  Shape result = shape();
  const size_t row_bytes = static_cast<size_t>(shape().slice(1).num_elements()) * size_of(dtype());
  result[0] = end - begin;
  return from_buffer(impl().buffer, impl().offset + static_cast<size_t>(begin) * row_bytes, result,
                     dtype());
}

std::shared_ptr<Tensor::Impl> Tensor::variant() const {
  auto copy = std::make_shared<Impl>(impl());
  if (!copy->origin) copy->origin = impl_;
  return copy;
}

Tensor Tensor::strong() const {
  if (!is_weak()) return *this;
  auto impl = variant();
  impl->weak = false;
  return Tensor(std::move(impl));
}

Tensor Tensor::with_mask(const Tensor& mask) const {
  auto impl = variant();
  impl->mask = mask.impl_;
  return Tensor(std::move(impl));
}

Tensor Tensor::mask() const { return impl().mask ? Tensor(impl().mask) : Tensor(); }

std::string Tensor::to_string() const {
  if (!defined()) return "Tensor(undefined)";
  std::string text = fmt::format("Tensor(shape={}, dtype={}", shape(), dtype());
  if (is_symbolic()) return text + ", " + impl().owner->describe(impl().symbol_id) + ")";
  text += ", values=[";
  const int64_t printed = std::min(kPrintedElements, num_elements());
  for (int64_t i = 0; i < printed; ++i) {
    if (i > 0) text += ", ";
    text += dispatch_dtype(dtype(), [&](auto t) {
      decltype(t) value;
      std::memcpy(&value, raw() + static_cast<size_t>(i) * sizeof(value), sizeof(value));
      if constexpr (std::is_integral_v<decltype(t)>) {
        return fmt::format("{}", static_cast<int64_t>(value));
      } else {
        return fmt::format("{:g}", static_cast<double>(value));
      }
    });
  }
  return text + (num_elements() > printed ? ", …])" : "])");
}

Tensor Tensor::weak_scalar(bool value) {
  return scalar(value);  // a bool promotes to anything anyway
}

Tensor Tensor::make_weak(const Tensor& value, double exact) {
  auto impl = std::make_shared<Impl>(value.impl());
  impl->weak = true;
  impl->weak_value = exact;
  return Tensor(std::move(impl));
}

Tensor Tensor::weak_scalar(double value) {
  return make_weak(scalar(static_cast<float>(value)), value);
}

Tensor Tensor::weak_scalar(int64_t value) {
  const bool fits = value == static_cast<int32_t>(value);
  return make_weak(fits ? scalar(static_cast<int32_t>(value)) : scalar(value),
                   static_cast<double>(value));
}

}  // namespace cornu
