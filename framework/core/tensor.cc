// SPDX-License-Identifier: Apache-2.0
#include "framework/core/tensor.h"

#include <atomic>
#include <cstring>

namespace cornu {

void Tensor::undefined(const char* who) {
  const std::string name = who;
  raise<FailedPrecondition>("{}: expected a tensor, got an undefined one.",
                            name.empty() || name == "operator()" ? "Tensor" : name);
}

Tensor Tensor::empty(const Shape& shape, DTypeLike dtype) {
  return from_buffer(allocate_host(shape.num_bytes(size_of(dtype))), 0, shape, dtype);
}

Tensor Tensor::from_buffer(std::shared_ptr<Buffer> buffer, size_t offset, const Shape& shape,
                           DType dtype) {
  const size_t bytes = shape.num_bytes(size_of(dtype));
  CORNU_ASSERT(bytes, <=, buffer->bytes());
  CORNU_ASSERT(offset, <=, buffer->bytes() - bytes);
  auto impl = std::make_shared<Impl>();
  impl->shape = shape;
  impl->dtype = dtype;
  impl->buffer = std::move(buffer);
  impl->offset = offset;
  return Tensor(std::move(impl));
}

Tensor Tensor::wrap(void* data, const Shape& shape, DTypeLike dtype,
                    std::shared_ptr<const void> owner) {
  const size_t bytes = shape.num_bytes(size_of(dtype));
  return from_buffer(wrap_host(data, bytes, std::move(owner)), 0, shape, dtype);
}

Tensor Tensor::wrap(const void* data, const Shape& shape, DTypeLike dtype,
                    std::shared_ptr<const void> owner) {
  const size_t bytes = shape.num_bytes(size_of(dtype));
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

const std::byte* Tensor::raw() const& {
  const Impl& state = impl("raw");
  if (state.owner) [[unlikely]] {
    raise<FailedPrecondition>(
        "Tensor of shape {}: its value was asked for, but it is {}, which has none yet. Values can "
        "be read outside of traced code only; to choose by one, use ops::where or ops::cond.",
        shape(), state.owner->describe(state.symbol_id));
  }
  return state.buffer->data() + state.offset;
}

std::byte* Tensor::mutable_raw() & {
  const std::byte* data = raw();
  if (is_unique() && !impl_->buffer->read_only()) return const_cast<std::byte*>(data);
  auto copy = std::make_shared<Impl>(impl());
  copy->buffer = allocate_host(bytes());
  copy->offset = 0;
  copy->origin = nullptr;
  std::memcpy(copy->buffer->data(), data, bytes());
  impl_ = copy;
  return copy->buffer->data();
}

bool Tensor::is_unique() const {
  if (!impl_ || impl_.use_count() != 1 || !impl_->buffer || impl_->buffer.use_count() != 1) {
    return false;
  }
  std::atomic_thread_fence(std::memory_order_acquire);  // what the last other owner read, it read
  return true;
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
  const int64_t count = rank() > 0 ? shape().front() : 0;
  const int64_t first = begin < 0 ? begin + count : begin;
  const int64_t last = end < 0 ? end + count : end;
  check<OutOfRange>(rank() > 0 && 0 <= first && first <= last && last <= count,
                    "Tensor::rows: expected a range within {} rows, got [{}, {}).", count, begin,
                    end);
  Shape result = shape();
  const size_t row_bytes = shape().slice(1).num_bytes(size_of(dtype()));
  result[0] = last - first;
  return from_buffer(impl().buffer, impl().offset + static_cast<size_t>(first) * row_bytes, result,
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

Tensor Tensor::weak_scalar(uint64_t value) {
  const auto as_signed = static_cast<int64_t>(value);
  return as_signed >= 0 ? weak_scalar(as_signed)
                        : make_weak(scalar(value), static_cast<double>(value));
}

}  // namespace cornu
