// SPDX-License-Identifier: Apache-2.0
// The tensor handle.
#pragma once

#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/buffer.h"
#include "framework/core/convert_number.h"
#include "framework/core/device.h"
#include "framework/core/dtype.h"
#include "framework/core/error.h"
#include "framework/core/nested_values.h"
#include "framework/core/shape.h"

namespace cornu {

class Index;  // a number, slice, mask …: ops/indexing.h

// The owner of symbolic tensors, which gives them their meaning: a trace being recorded, or the
// graph of a functional model.
class SymbolOwner {
 public:
  virtual ~SymbolOwner() = default;
  // A description for error messages: "a value of the function being traced", …
  virtual std::string describe(int64_t id) const = 0;
};

// The elements of a temporary tensor. Can be read like a span, and keeps the elements alive.
template <class T>
class TensorData {
 public:
  using value_type = T;
  using const_iterator = const T*;

  TensorData(std::shared_ptr<const void> owner, std::span<const T> values)
      : owner_(std::move(owner)), values_(values) {}

  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + values_.size(); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  const T& operator[](size_t index) const { return values_[index]; }
  const T& front() const { return values_.front(); }
  const T& back() const { return values_.back(); }
  const T* data() const { return values_.data(); }
  // A span of a temporary would outlive the memory: give the tensor or this object a name first.
  operator std::span<const T>() && = delete;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const T> values_;
};

// A cheap handle to an immutable, row-major array of numbers (or strings). It either holds a value,
// represents a node of the graph being traced, or is a placeholder of a functional model; code
// written with ops:: need not know which. Copies share the data. Handles to the same value may be
// used from several threads; a single handle must not be assigned in one thread while another reads
// it.
//
// A value resides in the memory of a device. Variables and results of `to` are bound to their
// device, and so is everything computed from them: ops run there. All other values (C++ values,
// random numbers, zeros, …) reside where they were created, and ops copy them to the device of
// their other tensors. The elements of a tensor on another device are read through a copy on the
// host.
//
// Strings are for input pipelines: `Tensor::from({"a", "b"})` holds them on the host, where
// data<std::string>() reads them. Ops accept only numbers, and throw InvalidArgument for strings.
//
// C++ scalars convert to weakly typed scalar tensors: in an operation with another tensor they take
// its dtype (`bfloat16_tensor / 255.0f` stays bfloat16). `Tensor t = {{1, 2}, {3, 4}}` is a matrix,
// with the dtype that Keras gives Python lists: int32 for integers, float32 for floating-point
// numbers, doubles included.
//
// Calling a member function of an undefined tensor throws FailedPrecondition, naming the function.
class Tensor {
 public:
  Tensor() = default;  // undefined: Keras's None
  template <class T>
  requires std::is_arithmetic_v<T> Tensor(T scalar)  // NOLINT: implicit on purpose
      : Tensor(weak_scalar(scalar)) {}
  template <class T>
  requires std::is_arithmetic_v<T> Tensor(std::initializer_list<T> values)  // NOLINT
      : Tensor(from_nested<ListElement<T>>(values)) {}
  template <class T>
  requires std::is_arithmetic_v<T> Tensor(  // NOLINT
      std::initializer_list<std::initializer_list<T>> values)
      : Tensor(from_nested<ListElement<T>>(values)) {}
  template <class T>
  requires std::is_arithmetic_v<T> Tensor(  // NOLINT
      std::initializer_list<std::initializer_list<std::initializer_list<T>>> values)
      : Tensor(from_nested<ListElement<T>>(values)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  // Only handles can be assigned, not parts of a tensor: `x[0] = 1` doesn't compile. Use
  // ops::slice_update for that.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;

  // Creates a value on the host with the dtype of the C++ type, from a vector, span, std::array, C
  // array or braced list: nested as deep as the tensor has axes, or flat with a shape. Throws
  // InvalidArgument when lengths differ, or don't match the shape's number of elements.
  template <internal::NestedValues R>
  static Tensor from(const R& values) {
    return from_nested<stored_t<typename internal::Nesting<R>::Leaf>>(values);
  }
  template <internal::FlatValues R>
  static Tensor from(const R& values, const Shape& shape) {
    return from_nested<stored_t<typename internal::Nesting<R>::Leaf>>(values, &shape);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values) {
    return from_nested<stored_t<T>>(values);
  }
  template <class T>
  static Tensor from(std::initializer_list<T> values, const Shape& shape) {
    return from_nested<stored_t<T>>(values, &shape);
  }
  template <class T>
  static Tensor from(std::initializer_list<std::initializer_list<T>> values) {
    return from_nested<stored_t<T>>(values);
  }
  template <class T>
  static Tensor from(
      std::initializer_list<std::initializer_list<std::initializer_list<T>>> values) {
    return from_nested<stored_t<T>>(values);
  }
  template <class T>
  static Tensor scalar(T value) {  // strongly typed
    const Shape shape;
    return from(std::span<const T>(&value, 1), shape);
  }

  // Creates an uninitialized value on the host (strings are empty), to be filled through
  // mutable_data() before it is shared. Throws InvalidArgument for sizes that are negative or whose
  // product overflows; ResourceExhausted when there isn't enough memory.
  static Tensor empty(const Shape& shape, DTypeLike dtype);
  // A value stored in `buffer`, `offset` bytes from its start.
  static Tensor from_buffer(std::shared_ptr<Buffer> buffer, size_t offset, const Shape& shape,
                            DType dtype);
  // Wraps the caller's host memory without copying; `owner` keeps it alive. With a null owner, it
  // must outlive all tensors that share it. Memory passed as const is copied before it is written;
  // a variable that gets the tensor as its value copies it, unless it is const and has an owner.
  // Throws InvalidArgument for strings and for a null pointer to more than 0 elements.
  static Tensor wrap(void* data, const Shape& shape, DTypeLike dtype,
                     std::shared_ptr<const void> owner = nullptr);
  static Tensor wrap(const void* data, const Shape& shape, DTypeLike dtype,
                     std::shared_ptr<const void> owner = nullptr);
  // A symbolic tensor: value number `id` of `owner`.
  static Tensor symbol(std::shared_ptr<SymbolOwner> owner, int64_t id, const Shape& shape,
                       DType dtype);

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const = delete;  // for a single element, use item<bool>()

  const Shape& shape(const char* who = __builtin_FUNCTION()) const& { return impl(who).shape; }
  Shape shape(const char* who = __builtin_FUNCTION()) && { return impl(who).shape; }
  DType dtype(const char* who = __builtin_FUNCTION()) const { return impl(who).dtype; }
  // The device whose memory holds the value: CPU:0 for all host memory, and for symbolic tensors.
  Device device() const;
  // Whether it is on the host or symbolic.
  bool on_host() const { return !impl().buffer || impl_->buffer->on_host(); }
  // Whether it is bound to device(). If not, ops copy it to the device of their other tensors.
  bool is_bound() const { return impl().bound; }
  void bind();  // binds this handle's value from now on
  // Returns the same value on `device`, bound to it; shares memory if it is already there.
  // Gradients flow back through the copy. A symbolic tensor is returned unchanged, since a graph
  // runs on one device. `to("GPU:0")` parses the name with Device::parse. Throws Unimplemented when
  // this build has no backend for the device, and InvalidArgument when there is no such device.
  // Defined in graph/dispatch.cc.
  Tensor to(const Device& device) const;
  Tensor to(std::string_view device) const { return to(Device::parse(device)); }
  // Returns the same value on the host, bound to no device; shares memory if it is already there.
  // Stops gradients. Throws FailedPrecondition for a symbolic tensor.
  Tensor host() const;
  // Like host(), except that a value that is already on the host stays the same value to gradient
  // tapes. Used by traces.
  Tensor unplaced() const;
  int64_t rank(const char* who = __builtin_FUNCTION()) const { return impl(who).shape.rank(); }
  int64_t dim(int64_t axis, const char* who = __builtin_FUNCTION()) const {
    return impl(who).shape[axis];
  }
  int64_t num_elements() const { return shape("num_elements").num_elements(); }
  int64_t size() const { return num_elements(); }  // NumPy's name for num_elements()
  size_t bytes() const { return shape("bytes").num_bytes(size_of(dtype())); }

  bool is_symbolic() const { return impl_ && impl_->owner != nullptr; }
  bool is_weak() const { return impl_ && impl_->weak; }
  // The value of a weak scalar as it was written, before any rounding to dtype().
  double weak_value() const { return impl().weak_value; }
  const std::shared_ptr<SymbolOwner>& symbol_owner() const { return impl().owner; }
  int64_t symbol_id() const { return impl().symbol_id; }

  // Returns the only element of a one-element tensor, converted to T (std::string only from a
  // string; floats to integers as in convert_number.h). Throws FailedPrecondition for a symbolic
  // tensor, and InvalidArgument when there isn't exactly one element.
  template <class T>
  T item() const;
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) explicit operator T() const {
    return item<T>();
  }

  // A view of the elements, valid while any handle to the value lives; called on a temporary, it
  // returns an object that keeps the elements alive. Elements on another device are copied to the
  // host on first access, and the copy is kept. Throws InvalidArgument when T doesn't match the
  // dtype, and FailedPrecondition for a symbolic tensor.
  template <class T>
  std::span<const T> data() const& {
    require_dtype(dtype_of<T>);
    return {reinterpret_cast<const T*>(on_host() ? raw() : host_copy()),
            static_cast<size_t>(num_elements())};
  }
  template <class T>
  TensorData<T> data() && {
    const std::span<const T> values = std::as_const(*this).template data<T>();
    return TensorData<T>(impl_, values);
  }
  template <class T>
  std::vector<T> to_vector() const {
    const Tensor there = on_host() ? *this : host();
    const std::span<const T> view = there.data<T>();
    return std::vector<T>(view.begin(), view.end());
  }
  // The elements in host memory. Throws FailedPrecondition for a symbolic tensor, and for a value
  // on another device, which host() would copy.
  const std::byte* raw() const&;
  const std::byte* raw() && = delete;  // would outlive the memory: give the tensor a name first
  // Copies the elements to `to`, which must have room for bytes() bytes, from whatever device they
  // are on.
  void copy_to_host(std::byte* to) const;

  // Write access. A value that is shared or on another device is first copied to host memory, so no
  // other handle sees the writes; request these pointers again after copying the handle. Throws
  // FailedPrecondition for a symbolic tensor.
  std::byte* mutable_raw() &;
  template <class T>
  std::span<T> mutable_data() & {
    require_dtype(dtype_of<T>);
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<size_t>(num_elements())};
  }
  // Whether only this handle's value holds the buffer, so that it may be written in place.
  bool is_unique() const;
  // For backends: the buffer that holds the value. Null for a symbolic tensor.
  const std::shared_ptr<Buffer>& buffer() const { return impl().buffer; }
  // For backends: the address of the first element on device(). Throws FailedPrecondition for a
  // symbolic tensor.
  const std::byte* address() const&;

  // NumPy's indexing, by numbers (negative ones count from the end), slices, masks …; see
  // ops::get_item. `x[0]`, `x(0, Slice(1, 3))`, `x[x > 0]`. Defined in ops.
  Tensor operator[](const Index& index) const;
  template <class... Indices>
  requires(sizeof...(Indices) > 0) Tensor operator()(const Indices&... indices) const {
    return item_at({indices...});
  }

  // The same elements with another shape (of equal size), without copying; values only.
  Tensor with_shape(const Shape& shape) const;
  // Rows [begin, end) of axis 0, without copying; negative indices count from the end. Values only.
  Tensor rows(int64_t begin, int64_t end) const;
  // The same tensor, strongly typed.
  Tensor strong() const;
  // The same tensor carrying a Keras mask (bool, with the tensor's leading axes); an undefined mask
  // removes it.
  Tensor with_mask(const Tensor& mask) const;
  Tensor mask() const;
  // The same tensor, marked as the output of `activation` ("softmax", "sigmoid") for these logits.
  // Losses of probabilities are then computed from the logits, which stay exact when a probability
  // is close to 0 or 1 (Keras on TensorFlow: _keras_logits).
  Tensor with_logits(const char* activation, const Tensor& logits) const;
  // The logits; undefined unless the tensor is the output of this activation.
  Tensor logits(std::string_view activation) const;

  // Identity: equal for two handles to the same value or symbol, whatever their masks.
  const void* id() const { return impl_ && impl_->origin ? impl_->origin.get() : impl_.get(); }

  // "Tensor([1. 2.], shape=(2,), dtype=float32)", with elements as NumPy prints them (print.h
  // determines how many).
  std::string to_string() const;

 private:
  // A host copy of a value on another device, made on first access. Not copied with the value.
  struct HostCopy {
    HostCopy() = default;
    HostCopy(const HostCopy&) {}  // NOLINT: on purpose
    HostCopy& operator=(const HostCopy&) = delete;
    std::shared_ptr<Buffer> buffer;
  };
  struct Impl {
    Shape shape;
    DType dtype = DType::Float32;
    bool weak = false;
    bool bound = false;
    double weak_value = 0;
    std::shared_ptr<Buffer> buffer;
    size_t offset = 0;
    std::shared_ptr<SymbolOwner> owner;
    int64_t symbol_id = 0;
    std::shared_ptr<const Impl> mask;
    std::shared_ptr<const Impl> logits;
    const char* activation = "";         // that `logits` belong to
    std::shared_ptr<const Impl> origin;  // same tensor but for mask, weakness or placement
    std::weak_ptr<void> variable;  // set when this is that variable's value, not computed from it
    mutable HostCopy host_copy;

    // Replaces the memory by a copy that no other tensor has a part of.
    void own_memory(size_t bytes);
  };
  friend class Variable;

  explicit Tensor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl(const char* who = __builtin_FUNCTION()) const {
    if (!impl_) [[unlikely]]
      undefined(who);
    return *impl_;
  }
  [[noreturn]] static void undefined(const char* who);
  // The element dtypes that Keras chooses for Python's numbers.
  template <class T>
  using ListElement = std::conditional_t<std::is_floating_point_v<T>, float, stored_t<T>>;
  template <class To, class R>
  static Tensor from_nested(const R& values, const Shape* shape = nullptr);
  Tensor item_at(std::initializer_list<Index> indices) const;
  void require_dtype(DType wanted) const;
  double item_as_double() const;
  int64_t item_as_int() const;
  std::string item_as_string() const;
  void require_one_element() const;
  void require_value() const;
  const std::byte* host_copy() const;
  std::byte* writable();
  static std::shared_ptr<Impl> make_impl(std::shared_ptr<Buffer> buffer, size_t offset,
                                         const Shape& shape, DType dtype, bool bound);
  std::shared_ptr<Impl> variant() const;
  static Tensor make_weak(const Tensor& value, double exact);
  static Tensor weak_scalar(bool value);
  static Tensor weak_scalar(double value);
  static Tensor weak_scalar(int64_t value);
  static Tensor weak_scalar(uint64_t value);
  template <class T>
  static Tensor weak_scalar(T value) {
    if constexpr (std::is_floating_point_v<T>) {
      return weak_scalar(static_cast<double>(value));
    } else if constexpr (std::is_unsigned_v<T>) {
      return weak_scalar(static_cast<uint64_t>(value));
    } else {
      return weak_scalar(static_cast<int64_t>(value));
    }
  }

  std::shared_ptr<const Impl> impl_;
};

// ---- implementation of templates ----

template <class To, class R>
Tensor Tensor::from_nested(const R& values, const Shape* shape) {
  Shape measured;
  internal::append_sizes(values, measured);
  check<InvalidArgument>(!shape || measured[0] == shape->num_elements(),
                         "Tensor: expected {} values for shape {}, got {}.",
                         shape ? shape->num_elements() : 0, shape ? *shape : measured, measured[0]);
  Tensor tensor = empty(shape ? *shape : measured, dtype_of<To>);
  internal::copy_nested(values, measured, 0, reinterpret_cast<To*>(tensor.mutable_raw()));
  return tensor;
}

template <class T>
T Tensor::item() const {
  if constexpr (std::is_same_v<T, std::string>) {
    return item_as_string();
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(item_as_double());
  } else {
    if (is_floating(dtype())) return convert_number<double, T>(item_as_double());
    return static_cast<T>(item_as_int());
  }
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace cornu

template <>
struct fmt::formatter<cornu::Tensor> : fmt::formatter<std::string_view> {
  auto format(const cornu::Tensor& tensor, format_context& context) const {
    return fmt::formatter<std::string_view>::format(tensor.to_string(), context);
  }
};
