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

// What gives symbolic tensors their meaning: a trace being recorded, or a functional model's graph.
class SymbolOwner {
 public:
  virtual ~SymbolOwner() = default;
  // For error messages: "a value of the function being traced", …
  virtual std::string describe(int64_t id) const = 0;
};

// The elements of a tensor that was a temporary, read as a span is. They live as long as this does.
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
  // A span of a temporary would outlive the memory: name the tensor or this first.
  operator std::span<const T>() && = delete;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const T> values_;
};

// A cheap handle on an immutable array of numbers (or strings), row-major. It holds a value, or
// stands for a node of the graph being traced, or is the placeholder of a functional model; code
// written with ops:: need not know which. Copying shares. Handles may be used from several threads;
// one handle may not be assigned from one thread while another reads it.
//
// A value lies in the memory of a device. Variables and what `to` gives are bound to theirs, and so
// is all that is computed of them: ops run there. Anything else (C++ values, random numbers, zeros,
// …) lies where it was made, and ops take it to where their other tensors are. Elements of a tensor
// on another device are read through a copy on the host.
//
// Strings are for input pipelines: `Tensor::from({"a", "b"})` holds them on the host, where
// data<std::string>() reads them. Ops take numbers only: InvalidArgument.
//
// C++ scalars convert to scalar tensors that are weakly typed: in an operation with another tensor
// they take its dtype (`bfloat16_tensor / 255.0f` stays bfloat16). `Tensor t = {{1, 2}, {3, 4}}`
// is a matrix, as Keras makes one of Python's lists: int32, or float32 of doubles too.
//
// Functions of an undefined tensor throw FailedPrecondition, which names the function that asked.
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
  // A handle is assigned, never a place in a tensor: `x[0] = 1` doesn't compile. For that there is
  // ops::slice_update.
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;

  // A value on the host, of the C++ type's dtype: of a vector, span, std::array, C array or braced
  // list, nested as deep as the tensor has axes, or flat with a shape. InvalidArgument when lengths
  // differ, or aren't the shape's number of elements.
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

  // An uninitialized value on the host (of strings: empty ones), to be filled through
  // mutable_data() before it is shared. InvalidArgument for sizes that are negative or whose
  // product overflows; ResourceExhausted where there is no such memory.
  static Tensor empty(const Shape& shape, DTypeLike dtype);
  // A value that lies in `buffer`, `offset` bytes from its start.
  static Tensor from_buffer(std::shared_ptr<Buffer> buffer, size_t offset, const Shape& shape,
                            DType dtype);
  // Host memory of the caller's, not copied; `owner` (may be null) keeps it alive. Constants are
  // copied when they are to be written to. InvalidArgument for strings.
  static Tensor wrap(void* data, const Shape& shape, DTypeLike dtype,
                     std::shared_ptr<const void> owner = nullptr);
  static Tensor wrap(const void* data, const Shape& shape, DTypeLike dtype,
                     std::shared_ptr<const void> owner = nullptr);
  // A symbolic tensor: value `id` of `owner`.
  static Tensor symbol(std::shared_ptr<SymbolOwner> owner, int64_t id, const Shape& shape,
                       DType dtype);

  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const = delete;  // of one element: item<bool>()

  const Shape& shape(const char* who = __builtin_FUNCTION()) const& { return impl(who).shape; }
  Shape shape(const char* who = __builtin_FUNCTION()) && { return impl(who).shape; }
  DType dtype(const char* who = __builtin_FUNCTION()) const { return impl(who).dtype; }
  // Where its value lies: CPU:0 for all host memory, and for symbolic tensors.
  Device device() const;
  // On the host, or symbolic.
  bool on_host() const { return !impl().buffer || impl_->buffer->on_host(); }
  // Is it bound to device()? Else ops take it to where their other tensors are.
  bool is_bound() const { return impl().bound; }
  void bind();  // from now on this handle's value is
  // The same value on `device`, bound to it; shares memory where it is there already. Gradients go
  // back. A symbolic tensor is what it is: a graph runs on one device. `to("GPU:0")` reads the name
  // as Device::parse does. Unimplemented when this build has no backend for the device,
  // InvalidArgument when there is no such device. In graph/dispatch.cc.
  Tensor to(const Device& device) const;
  Tensor to(std::string_view device) const { return to(Device::parse(device)); }
  // The same value on the host, bound to no device; shares memory where it is there already.
  // FailedPrecondition on a symbolic tensor. Gradients stop here.
  Tensor host() const;
  // The same, but to tapes the value that it is, where that lies on the host: for traces.
  Tensor unplaced() const;
  int64_t rank(const char* who = __builtin_FUNCTION()) const { return impl(who).shape.rank(); }
  int64_t dim(int64_t axis, const char* who = __builtin_FUNCTION()) const {
    return impl(who).shape[axis];
  }
  int64_t num_elements() const { return shape("num_elements").num_elements(); }
  int64_t size() const { return num_elements(); }  // NumPy's name
  size_t bytes() const { return shape("bytes").num_bytes(size_of(dtype())); }

  bool is_symbolic() const { return impl_ && impl_->owner != nullptr; }
  bool is_weak() const { return impl_ && impl_->weak; }
  // A weak scalar as it was written, before any rounding to dtype().
  double weak_value() const { return impl().weak_value; }
  const std::shared_ptr<SymbolOwner>& symbol_owner() const { return impl().owner; }
  int64_t symbol_id() const { return impl().symbol_id; }

  // The only element of a one-element tensor, converted to T (std::string of a string only; floats
  // to integers as convert_number.h has it).
  // FailedPrecondition on a symbolic tensor, InvalidArgument when there isn't exactly one element.
  template <class T>
  T item() const;
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) explicit operator T() const {
    return item<T>();
  }

  // A view of the elements, valid while a handle lives; of a temporary, one that keeps them itself.
  // Elements on another device are copied to the host when they are first asked for, and stay there
  // too. InvalidArgument when T isn't the dtype, FailedPrecondition on a symbolic tensor.
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
  // The elements in host memory. FailedPrecondition on a symbolic tensor, and on one that lies
  // elsewhere: host() brings it.
  const std::byte* raw() const&;
  const std::byte* raw() && = delete;  // it would outlive the memory: name the tensor first
  // Copies the elements to `to`, which has bytes() bytes, from wherever they lie.
  void copy_to_host(std::byte* to) const;

  // Write access. A value that is shared or lies on another device is copied first, so that nobody
  // else sees what is written; so get these anew after copying the handle. It is then on the host.
  // FailedPrecondition on a symbolic tensor.
  std::byte* mutable_raw() &;
  template <class T>
  std::span<T> mutable_data() & {
    require_dtype(dtype_of<T>);
    return {reinterpret_cast<T*>(mutable_raw()), static_cast<size_t>(num_elements())};
  }
  // The buffer is held by this handle's value alone (so it may be written in place).
  bool is_unique() const;
  // For backends: the memory that it lies in. Null for a symbolic tensor.
  const std::shared_ptr<Buffer>& buffer() const { return impl().buffer; }
  // For backends: where the elements begin on device(). FailedPrecondition on a symbolic tensor.
  const std::byte* address() const&;

  // NumPy's indexing, by numbers (negative ones from the end), slices, masks …: ops::get_item says
  // what there is. `x[0]`, `x(0, Slice(1, 3))`, `x[x > 0]`; written in ops.
  Tensor operator[](const Index& index) const;
  template <class... Indices>
  requires(sizeof...(Indices) > 0) Tensor operator()(const Indices&... indices) const {
    return item_at({indices...});
  }

  // The same elements under another shape (of as many elements) without copying; values only.
  Tensor with_shape(const Shape& shape) const;
  // Rows [begin, end) of axis 0 without copying, counted from the end where negative; values only.
  Tensor rows(int64_t begin, int64_t end) const;
  // The same tensor, strongly typed.
  Tensor strong() const;
  // The same tensor carrying a Keras mask (bool, of its leading axes); undefined takes it away.
  Tensor with_mask(const Tensor& mask) const;
  Tensor mask() const;
  // The same tensor, which knows what it is the `activation` of ("softmax", "sigmoid"): losses of
  // probabilities are computed from these logits, which lose nothing where a probability is all but
  // 0 or 1 (Keras on TensorFlow: _keras_logits).
  Tensor with_logits(const char* activation, const Tensor& logits) const;
  // Undefined unless the tensor is this activation's output.
  Tensor logits(std::string_view activation) const;

  // Identity: two handles on the same value or symbol, with whatever masks.
  const void* id() const { return impl_ && impl_->origin ? impl_->origin.get() : impl_.get(); }

  // "Tensor([1. 2.], shape=(2,), dtype=float32)", elements as NumPy prints them (print.h says
  // how many).
  std::string to_string() const;

 private:
  // A copy on the host of what lies elsewhere, made when it is asked for. Not copied with a value.
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
    const char* activation = "";         // of logits
    std::shared_ptr<const Impl> origin;  // what this differs from in mask, weakness or place alone
    std::weak_ptr<void> variable;        // whose value this is, not something computed of it
    mutable HostCopy host_copy;
  };
  friend class Variable;

  explicit Tensor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl(const char* who = __builtin_FUNCTION()) const {
    if (!impl_) [[unlikely]]
      undefined(who);
    return *impl_;
  }
  [[noreturn]] static void undefined(const char* who);
  // As Keras takes Python's numbers.
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
