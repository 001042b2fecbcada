// SPDX-License-Identifier: Apache-2.0
#include "framework/core/tensor.h"

#include <atomic>
#include <cstring>
#include <mutex>

namespace cornu {
namespace {

size_t wrapped_bytes(const void* data, const Shape& shape, DType dtype) {
  check<InvalidArgument>(dtype != DType::String,
                         "Tensor::wrap: expected numbers, got strings. Use Tensor::from.");
  const size_t bytes = shape.num_bytes(size_of(dtype));
  check<InvalidArgument>(data != nullptr || bytes == 0,
                         "Tensor::wrap: expected memory of {} bytes for shape {}, got a null "
                         "pointer.",
                         bytes, shape);
  return bytes;
}

}  // namespace

void Tensor::undefined(const char* who) {
  const std::string name = who;
  raise<FailedPrecondition>("{}: expected a tensor, got an undefined one.",
                            name.empty() || name == "operator()" ? "Tensor" : name);
}

Tensor Tensor::empty(const Shape& shape, DTypeLike dtype) {
  const size_t bytes = shape.num_bytes(size_of(dtype));
  auto buffer =
      dtype == DType::String ? allocate_strings(bytes / size_of(dtype)) : allocate_host(bytes);
  return Tensor(make_impl(std::move(buffer), 0, shape, dtype, false));
}

Tensor Tensor::from_buffer(std::shared_ptr<Buffer> buffer, size_t offset, const Shape& shape,
                           DType dtype) {
  return Tensor(make_impl(std::move(buffer), offset, shape, dtype, false));
}

std::shared_ptr<Tensor::Impl> Tensor::make_impl(std::shared_ptr<Buffer> buffer, size_t offset,
                                                const Shape& shape, DType dtype, bool bound) {
  const size_t bytes = shape.num_bytes(size_of(dtype));
  CORNU_ASSERT(bytes, <=, buffer->bytes());
  CORNU_ASSERT(offset, <=, buffer->bytes() - bytes);
  auto impl = std::make_shared<Impl>();
  impl->shape = shape;
  impl->dtype = dtype;
  impl->buffer = std::move(buffer);
  impl->offset = offset;
  impl->bound = bound;
  return impl;
}

Tensor Tensor::wrap(void* data, const Shape& shape, DTypeLike dtype,
                    std::shared_ptr<const void> owner) {
  return from_buffer(wrap_host(data, wrapped_bytes(data, shape, dtype), std::move(owner)), 0, shape,
                     dtype);
}

Tensor Tensor::wrap(const void* data, const Shape& shape, DTypeLike dtype,
                    std::shared_ptr<const void> owner) {
  return from_buffer(wrap_host(data, wrapped_bytes(data, shape, dtype), std::move(owner)), 0, shape,
                     dtype);
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

void Tensor::require_value() const {
  const Impl& state = impl("raw");
  if (state.owner) [[unlikely]] {
    raise<NotTraceable>(
        "Tensor of shape {}: its value was asked for, but it is {}, which has none yet. Values can "
        "be read outside of traced code only; to choose by one, use ops::where or ops::cond.",
        shape(), state.owner->describe(state.symbol_id));
  }
}

const std::byte* Tensor::address() const& {
  require_value();
  return impl_->buffer->data() + impl_->offset;
}

const std::byte* Tensor::raw() const& {
  require_value();
  return std::as_const(*impl_->buffer).host() + impl_->offset;
}

void Tensor::copy_to_host(std::byte* to) const {
  require_value();
  impl_->buffer->copy_to_host(impl_->offset, {to, bytes()});
}

// Several threads may ask concurrently: all use the first copy that is finished.
const std::byte* Tensor::host_copy() const {
  static std::mutex mutex;
  require_value();
  {
    const std::lock_guard lock(mutex);
    if (impl_->host_copy.buffer) return impl_->host_copy.buffer->data();
  }
  auto copy = allocate_host(bytes());
  impl_->buffer->copy_to_host(impl_->offset, {copy->data(), copy->bytes()});
  const std::lock_guard lock(mutex);
  if (!impl_->host_copy.buffer) impl_->host_copy.buffer = std::move(copy);
  return impl_->host_copy.buffer->data();
}

Tensor Tensor::host() const {
  if (!impl().buffer || !on_host()) return unplaced();
  auto state = variant();
  state->origin = nullptr;  // a different value to gradient tapes
  state->bound = false;
  return Tensor(std::move(state));
}

Tensor Tensor::unplaced() const {
  require_value();
  if (impl_->buffer->on_host()) {
    if (!impl_->bound) return *this;
    auto state = variant();
    state->bound = false;
    return Tensor(std::move(state));
  }
  auto buffer = allocate_host(bytes());
  copy_to_host(buffer->data());
  auto state = make_impl(std::move(buffer), 0, shape(), dtype(), false);
  state->mask = impl_->mask;
  return Tensor(std::move(state));
}

void Tensor::bind() {
  if (impl().bound) return;
  if (impl_.use_count() == 1) {  // a result that no handle shares yet
    const_cast<Impl&>(*impl_).bound = true;
    return;
  }
  auto state = variant();
  state->bound = true;
  impl_ = std::move(state);
}

void Tensor::Impl::own_memory(size_t bytes) {
  buffer = buffer->clone(offset, bytes);
  offset = 0;
}

// The memory of the value on its device, writable for a caller with exclusive access.
std::byte* Tensor::writable() {
  require_value();
  if (!is_unique() || impl_->buffer->read_only()) {
    auto state = std::make_shared<Impl>(*impl_);
    state->own_memory(bytes());
    state->origin = nullptr;
    impl_ = std::move(state);
  }
  impl_->host_copy.buffer.reset();  // it would become stale
  impl_->buffer->before_write();
  return impl_->buffer->data() + impl_->offset;
}

std::byte* Tensor::mutable_raw() & {
  require_value();
  if (!impl_->buffer->on_host()) *this = host();
  return writable();
}

bool Tensor::is_unique() const {
  if (!impl_ || impl_.use_count() != 1 || !impl_->buffer || impl_->buffer.use_count() != 1) {
    return false;
  }
  std::atomic_thread_fence(std::memory_order_acquire);  // the last other owner's reads are done
  return true;
}

void Tensor::require_dtype(DType wanted) const {
  check<InvalidArgument>(dtype() == wanted,
                         "Tensor of shape {}: its elements are {}, but were asked for as {}. Use "
                         "ops::cast first.",
                         shape(), dtype(), wanted);
}

void Tensor::require_one_element() const {
  check<InvalidArgument>(shape().is_static() && num_elements() == 1,
                         "Tensor::item: expected exactly one element, got shape {}.", shape());
}

std::string Tensor::item_as_string() const {
  require_one_element();
  return data<std::string>()[0];
}

double Tensor::item_as_double() const {
  require_one_element();
  return dispatch_dtype(dtype(), [&](auto t) {
    decltype(t) value;
    copy_to_host(reinterpret_cast<std::byte*>(&value));
    return static_cast<double>(value);
  });
}

int64_t Tensor::item_as_int() const {
  require_one_element();
  return dispatch_dtype(dtype(), [&](auto t) {
    decltype(t) value;
    copy_to_host(reinterpret_cast<std::byte*>(&value));
    return static_cast<int64_t>(value);
  });
}

Tensor Tensor::with_shape(const Shape& shape) const {
  require_value();
  check<InvalidArgument>(shape.num_elements() == num_elements(),
                         "Tensor::with_shape: expected a shape of {} elements, as {} has, got {}.",
                         num_elements(), this->shape(), shape);
  return Tensor(make_impl(impl_->buffer, impl_->offset, shape, dtype(), impl_->bound));
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  require_value();
  const int64_t count = rank() > 0 ? shape().front() : 0;
  const int64_t first = begin < 0 ? begin + count : begin;
  const int64_t last = end < 0 ? end + count : end;
  check<OutOfRange>(rank() > 0 && 0 <= first && first <= last && last <= count,
                    "Tensor::rows: expected a range within {} rows, got [{}, {}).", count, begin,
                    end);
  Shape result = shape();
  const size_t row_bytes = shape().slice(1).num_bytes(size_of(dtype()));
  result[0] = last - first;
  return Tensor(make_impl(impl_->buffer, impl_->offset + static_cast<size_t>(first) * row_bytes,
                          result, dtype(), impl_->bound));
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

Tensor Tensor::with_logits(const char* activation, const Tensor& logits) const {
  auto impl = variant();
  impl->activation = activation;
  impl->logits = logits.impl_;
  return Tensor(std::move(impl));
}

Tensor Tensor::logits(std::string_view activation) const {
  return impl().logits && activation == impl().activation ? Tensor(impl().logits) : Tensor();
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

Tensor Tensor::weak_scalar(uint64_t value) {
  const auto as_signed = static_cast<int64_t>(value);
  return as_signed >= 0 ? weak_scalar(as_signed)
                        : make_weak(scalar(value), static_cast<double>(value));
}

}  // namespace cornu
