// SPDX-License-Identifier: Apache-2.0
// Writes StableHLO text: ops in their generic form (https://openxla.org/stablehlo/spec), with
// values of static shapes.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/threads.h"
#include "framework/graph/op.h"

namespace cornu::xla {

// A value of the program being written.
struct Value {
  std::string name;  // "%3", "%5#1"
  TensorType type;
  bool complex = false;  // with two parts of type `type`

  const Shape& shape() const { return type.shape; }
  DType dtype() const { return type.dtype; }
  int64_t rank() const { return type.shape.rank(); }
};
using Values = std::vector<Value>;

// "tensor<2x3xf32>"
std::string type_text(const TensorType& type, bool complex = false);
// "array<i64: 1, 2>"
std::string array_text(std::span<const int64_t> numbers);
// "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", with rows of two.
std::string pairs_text(std::span<const int64_t> numbers);

// Throws the error of a failed check, given the rejected value and its position.
using Refusal = std::function<void(int64_t value, int64_t place)>;

// The text of one function, op by op.
class Writer {
 public:
  // Writes any op with one result. Attributes: the text between the braces.
  Value op(std::string_view name, std::span<const Value> operands, const TensorType& type,
           std::string_view attributes = {}, std::string_view regions = {});
  Value op(std::string_view name, std::initializer_list<Value> operands, const TensorType& type,
           std::string_view attributes = {}, std::string_view regions = {}) {
    return op(name, std::span(operands.begin(), operands.size()), type, attributes, regions);
  }
  // Writes an op with several results.
  Values ops(std::string_view name, std::span<const Value> operands,
             std::span<const TensorType> types, std::string_view attributes = {},
             std::string_view regions = {});
  // An op whose operands or results are complex.
  Value complex_op(std::string_view name, std::initializer_list<Value> operands,
                   const TensorType& type, bool complex, std::string_view attributes = {});

  // A region for `regions` above: computes what `body` returns for its arguments.
  std::string region(std::span<const TensorType> arguments,
                     FunctionRef<Values(std::span<const Value>)> body);
  // The region of a reduction: combines two scalars by this op.
  std::string reducer(std::string_view op, DType dtype);

  // Adds a check. `bad`: a bool for each element of `values`, which are integers of the same shape.
  // The first bad value of the whole program is reported.
  void refuse(const Value& bad, const Value& values, Refusal fail);

  // {number of the failed check or -1, value, position}, int64; undefined until a check has been
  // added.
  const Value& status() const { return status_; }
  bool has_status() const { return !status_.name.empty(); }
  // Sets the status, which regions return as one of their values.
  void set_status(Value status) { status_ = std::move(status); }
  Value no_status();
  const std::vector<Refusal>& refusals() const { return refusals_; }

  // New values for a function's parameters.
  Value parameter(const TensorType& type) { return {next_name(), type}; }
  const std::string& text() const { return text_; }

  // The number of replicas that run it.
  int replicas = 1;

 private:
  std::string next_name();

  std::string text_ = {};
  std::string indent_ = "    ";
  int64_t next_ = 0;
  Value status_;
  std::vector<Refusal> refusals_;
};

// ---- ops, by what they compute; operands have the same shape unless stated otherwise ----

Value unary(Writer& to, std::string_view op, const Value& x);
Value binary(Writer& to, std::string_view op, const Value& a, const Value& b);
// "LT", "LE", "GT", "GE", "EQ", "NE"; for floats and integers.
Value compare(Writer& to, std::string_view direction, const Value& a, const Value& b);
Value select(Writer& to, const Value& condition, const Value& a, const Value& b);

inline Value add(Writer& to, const Value& a, const Value& b) { return binary(to, "add", a, b); }
inline Value subtract(Writer& to, const Value& a, const Value& b) {
  return binary(to, "subtract", a, b);
}
inline Value multiply(Writer& to, const Value& a, const Value& b) {
  return binary(to, "multiply", a, b);
}
inline Value divide(Writer& to, const Value& a, const Value& b) {
  return binary(to, "divide", a, b);
}
inline Value both(Writer& to, const Value& a, const Value& b) { return binary(to, "and", a, b); }
inline Value either(Writer& to, const Value& a, const Value& b) { return binary(to, "or", a, b); }

// The same number everywhere; integers are exact in 64 bits.
Value splat(Writer& to, double number, const TensorType& type);
Value splat_int(Writer& to, int64_t number, const TensorType& type);
inline Value like(Writer& to, double number, const Value& x) { return splat(to, number, x.type); }
// The lowest (or, with `highest`, the highest) value of the type: infinities for floats.
Value extreme(Writer& to, bool highest, const TensorType& type);
Value constant(Writer& to, const Tensor& value);

// StableHLO's own conversion, and Cornu's: floats become the nearest representable integer, NaN
// becomes 0.
Value convert(Writer& to, const Value& x, DType dtype);
Value cast(Writer& to, const Value& x, DType dtype);
Value bitcast(Writer& to, const Value& x, const TensorType& type);

Value iota(Writer& to, const TensorType& type, int64_t axis);
Value reshape(Writer& to, const Value& x, const Shape& shape);
Value transpose(Writer& to, const Value& x, std::span<const int64_t> permutation);
// Axis i of x is axis axes[i] of the result.
Value broadcast_in(Writer& to, const Value& x, const Shape& shape, std::span<const int64_t> axes);
// Broadcasts by NumPy's rules.
Value spread(Writer& to, const Value& x, const Shape& shape);
Value slice(Writer& to, const Value& x, std::span<const int64_t> begin,
            std::span<const int64_t> end, std::span<const int64_t> strides);
// Elements [begin, end) of one axis.
Value slice_axis(Writer& to, const Value& x, int64_t axis, int64_t begin, int64_t end);
Value pad(Writer& to, const Value& x, const Value& value, std::span<const int64_t> low,
          std::span<const int64_t> high, std::span<const int64_t> interior);
Value concatenate(Writer& to, std::span<const Value> xs, int64_t axis);
Value reverse(Writer& to, const Value& x, std::span<const int64_t> axes);
// Slice `index` (an integer scalar) of axis 0, without that axis; and x with that slice replaced.
Value row(Writer& to, const Value& x, const Value& index);
Value with_row(Writer& to, const Value& x, const Value& row, const Value& index);

// Reduces by an op such as "add", starting from `initial` (a scalar); removes the axes.
Value reduce(Writer& to, std::string_view op, const Value& x, const Value& initial,
             std::span<const int64_t> axes);

// "precision_config = […]" for products, subject to config::enable_tensor_float_32_execution.
std::string precision_text(DType dtype);

// Sums over the sum axes. The result has the batch axes, followed by the remaining axes of a and of
// b.
struct DotAxes {
  std::vector<int64_t> batch_a, batch_b, sum_a, sum_b;
};
Value dot(Writer& to, const Value& a, const Value& b, const DotAxes& axes, DType result);

// Runs `body` while `condition` (a bool scalar) holds.
Values while_loop(Writer& to, const Values& initial,
                  FunctionRef<Value(std::span<const Value>)> condition,
                  FunctionRef<Values(std::span<const Value>)> body);

}  // namespace cornu::xla
