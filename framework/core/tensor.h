// SPDX-License-Identifier: Apache-2.0
// The tensor handle.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "cornu/core/buffer.h"
#include "cornu/core/device.h"
#include "cornu/core/dtype.h"
#include "cornu/core/error.h"
#include "cornu/core/shape.h"

namespace cornu {

// What gives symbolic tensors their meaning: a trace being recorded, or a functional model's graph.
class SymbolOwner {
 public:
  virtual ~SymbolOwner() = default;
  // For error messages: "a value of the function being traced", …
  virtual std::string describe(int64_t id) const = 0;
};

// A cheap handle on an immutable array of numbers, row-major. It holds a value, or stands for a
// node of the graph being traced, or is the placeholder of a functional model; code written with
// ops:: need not know which. Copying shares. Handles may be used from several threads; one handle
// may not be assigned from one thread while another reads it.
//
// C++ scalars convert to scalar tensors that are weakly typed: in an operation with another tensor
// they take its dtype (`bfloat16_tensor / 255.0f` stays bfloat16).
class Tensor {
 public:
  Tensor() = default;  // undefined: Keras's None
  template <class T>
  requires std::is_arithmetic_v<T> Tensor(T scalar)  // NOLINT: implicit on purpose
      : Tensor(weak_scalar(scalar)) {}

  // A value on the host. `values.size()` must equal the number of elements; without `shape`, 1-D.
  template <class T>
  static Tensor from(std::span<const T> values, const Shape& shape);
  template <class T>
  static Tensor from(const std::vector<T>& values, const Shape& shape) {
    return from(std::span<const T>(values), shape);
  }
  template <class T>
  static Tensor from(const std::vector<T>& values) {
    return from(values, Shape{static_cast<int64_t>(values.size())});
  }
  template <class T>
  static Tensor scalar(T value) {  // strongly typed
    return from(std::span<const T>(&value, 1), Shape{});
  }
  static Tensor from(const std::vector<bool>& values, const Shape& shape);

  // An uninitialized value on the host, to be filled through mutable_data() before it is shared.
  static Tensor empty(const Shape& shape, DType dtype);
  // A value that lies in `buffer`, `offset` bytes from its start.
  static Tensor from_buffer(std::shared_ptr<Buffer> buffer, size_t offset, const Shape& shape,
                            DType dtype);
  // Host memory of the caller's, not copied; `owner` (may be null) keeps it alive.
  static Tensor wrap(void* data, const Shape& shape, DType dtype,
                     std::shared_ptr<const void> owner = nullptr);
  // A symbolic tensor: value `id` of `owner`.
  static Tensor symbol(std::shared_ptr<SymbolOwner> owner, int64_t id, const Shape& shape,
                       DType dtype);

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const = delete;

  const Shape& shape() const { return impl().shape; }
  DType dtype() const { return impl().dtype; }
  Device device() const;
  int64_t rank() const { return shape().rank(); }
  int64_t dim(int64_t axis) const { return shape()[shape().normalize_axis(axis, "Tensor::dim")]; }
  int64_t num_elements() const { return shape().num_elements(); }
  size_t bytes() const { return static_cast<size_t>(num_elements()) * size_of(dtype()); }

  bool is_symbolic() const { return impl_ && impl_->owner != nullptr; }
  bool is_weak() const { return impl_ && impl_->weak; }
  // A weak scalar as it was written, before any rounding to dtype().
  double weak_value() const { return impl().weak_value; }
  const std::shared_ptr<SymbolOwner>& symbol_owner() const { return impl().owner; }
  int64_t symbol_id() const { return impl().symbol_id; }

  // The only element of a one-element tensor, converted to T. FailedPrecondition on a symbolic
  // tensor, InvalidArgument when there isn't exactly one element.
  template <class T>
  T item() const;

  // A view of the elements, valid while a handle lives. InvalidArgument when T isn't the dtype,
  // FailedPrecondition on a symbolic tensor.
  template <class T>
  std::span<const T> data() const {
    require_dtype(dtype_of<T>);
    return {reinterpret_cast<const T*>(raw()), static_cast<size_t>(num_elements())};
  }
  template <class T>
  std::vector<T> to_vector() const {
    auto view = data<T>();
    return std::vector<T>(view.begin(), view.end());
  }
  const std::byte* raw() const;

  // Write access for whoever has just made this value; never write to a shared one.
  std::byte* mutable_raw();
  template <class T>
  std::span<T> mutable_data() {
    require_dtype(dtype_of<T>);
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<size_t>(num_elements())};
  }
  // The buffer is held by this handle's value alone (so it may be written in place).
  bool is_unique() const;

  // The same elements under another shape (of as many elements) without copying; values only.
  Tensor with_shape(const Shape& shape) const;
  // Rows [begin, end) of axis 0 without copying; values only.
  Tensor rows(int64_t begin, int64_t end) const;
  // The same tensor, strongly typed.
  Tensor strong() const;
  // The same tensor carrying a Keras mask (bool, of its leading axes); undefined takes it away.
  Tensor with_mask(const Tensor& mask) const;
  Tensor mask() const;

  // Identity: two handles on the same value or symbol, with whatever masks.
  const void* id() const { return impl_ && impl_->origin ? impl_->origin.get() : impl_.get(); }

  // "Tensor(shape=(2, 3), dtype=float32)", with the first elements of a value.
  std::string to_string() const;

 private:
  struct Impl {
    Shape shape;
    DType dtype = DType::Float32;
    bool weak = false;
    double weak_value = 0;
    std::shared_ptr<Buffer> buffer;
    size_t offset = 0;
    std::shared_ptr<SymbolOwner> owner;
    int64_t symbol_id = 0;
    std::shared_ptr<const Impl> mask;
    std::shared_ptr<const Impl> origin;  // what this differs from in mask or weakness alone
  };

  explicit Tensor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const {
    check<FailedPrecondition>(impl_ != nullptr, "Tensor: expected a tensor, got an undefined one.");
    return *impl_;
  }
  void require_dtype(DType wanted) const;
  double item_as_double() const;
  int64_t item_as_int() const;
  std::shared_ptr<Impl> variant() const;
  static Tensor make_weak(const Tensor& value, double exact);
  static Tensor weak_scalar(bool value);
  static Tensor weak_scalar(double value);
  static Tensor weak_scalar(int64_t value);
  template <class T>
  static Tensor weak_scalar(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      return weak_scalar(static_cast<double>(value));
    } else {
      return weak_scalar(static_cast<int64_t>(value));
    }
  }

  std::shared_ptr<const Impl> impl_;
};

// ---- implementation of templates ----

template <class T>
Tensor Tensor::from(std::span<const T> values, const Shape& shape) {
  check<InvalidArgument>(static_cast<int64_t>(values.size()) == shape.num_elements(),
                         "Tensor: expected {} values for shape {}, got {}.", shape.num_elements(),
                         shape, values.size());
  Tensor tensor = empty(shape, dtype_of<T>);
  if (!values.empty()) std::memcpy(tensor.mutable_raw(), values.data(), values.size_bytes());
  return tensor;
}

template <class T>
T Tensor::item() const {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(item_as_double());
  } else {
    return static_cast<T>(is_floating(dtype()) ? static_cast<int64_t>(item_as_double())
                                               : item_as_int());
  }
}

}  // namespace cornu
