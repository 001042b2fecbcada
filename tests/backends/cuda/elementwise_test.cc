// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels: every op on every dtype, broadcasting shapes, and fused sums.
#include <doctest/doctest.h>

#include <limits>

#include "framework/backends/cuda/kernels/elementwise/body_writer.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/elementwise_graphs.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::BodyBuilder;
using cpu::testing::elementwise_kernels;
using cpu::testing::random_tensor;
using cpu::testing::tensor_of;
using cpu::testing::text;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double tolerance_of(DType dtype) {
  if (dtype == DType::Float32) return 1e-6;
  if (dtype == DType::Float64) return 1e-12;
  if (dtype == DType::Float16) return 1e-3;
  return dtype == DType::BFloat16 ? 8e-3 : 0;
}

// ---- every op on every dtype ----

// Includes numbers at the limits of the dtype.
Tensor special_numbers(DType dtype) {
  if (is_floating(dtype)) {
    const std::vector<double> values = {0,    -0.0, 1,   -1,        0.5,        -0.5, 2, -2,
                                        3,    -3,   1.5, 0.125,     -0.75,      0.25, 5, -20,
                                        30.5, 100,  -90, kInfinity, -kInfinity, kNan};
    return tensor_of(values, {static_cast<int64_t>(values.size())}, dtype);
  }
  return dispatch_dtype(dtype, []<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      Tensor tensor = Tensor::empty({2}, DType::Bool);
      tensor.mutable_data<bool>()[0] = false;
      tensor.mutable_data<bool>()[1] = true;
      return tensor;
    } else if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return Tensor::from(std::vector<T>{0, 1, static_cast<T>(-1), 2, static_cast<T>(-2), 3, 7,
                                         static_cast<T>(-7), 31, 63, 64, 100, Limits::lowest(),
                                         Limits::max(), Limits::max() - 1});
    } else {
      return Tensor();
    }
  });
}

// All pairs of these numbers.
struct Pairs {
  Tensor first;
  Tensor second;
};

Pairs pairs_of(const Tensor& numbers) {
  const int64_t count = numbers.num_elements();
  const size_t size = size_of(numbers.dtype());
  Tensor a = Tensor::empty({count * count}, numbers.dtype());
  Tensor b = Tensor::empty({count * count}, numbers.dtype());
  const auto* from = static_cast<const std::byte*>(numbers.raw());
  for (size_t i = 0; i < static_cast<size_t>(count * count); ++i) {
    const size_t row = i / static_cast<size_t>(count), column = i % static_cast<size_t>(count);
    std::memcpy(static_cast<std::byte*>(a.mutable_raw()) + i * size, from + row * size, size);
    std::memcpy(static_cast<std::byte*>(b.mutable_raw()) + i * size, from + column * size, size);
  }
  return {a, b};
}

size_t operand_count(std::string_view op) {
  static constexpr std::string_view kBinary[] = {
      "divide",      "atan2",      "subtract",    "floor_divide", "mod",         "power",
      "add",         "multiply",   "maximum",     "minimum",      "bitwise_and", "bitwise_or",
      "bitwise_xor", "left_shift", "right_shift", "logical_and",  "logical_or",  "logical_xor",
      "equal",       "not_equal",  "less",        "less_equal",   "greater",     "greater_equal"};
  if (op == "select") return 3;
  return std::ranges::find(kBinary, op) != std::end(kBinary) ? 2 : 1;
}

bool gives_bool(const std::string& op) {
  BodyBuilder b;
  const ValueId x = b.input({DType::Float32, {1}});
  return b.dtype(b.op(op, std::vector<ValueId>(2, x))) == DType::Bool;
}

// Returns whether the CPU has a kernel for the op on this dtype; CHECKs that the GPU has one, too.
bool is_served(const std::string& op, const Tensor& a, const Tensor& b, const Tensor& condition) {
  std::vector<Tensor> operands = {a};
  if (operand_count(op) >= 2) operands.push_back(b);
  if (operand_count(op) == 3) operands.insert(operands.begin(), condition);
  const TensorType type = {gives_bool(op) ? DType::Bool : a.dtype(), a.shape()};
  const bool served = elementwise_kernels().make(op, operands, {}, {type}) != nullptr;
  CAPTURE(op);
  CAPTURE(text(a.dtype()));
  CHECK(has_lowering(op, operands, {}, {type}) == served);
  return served;
}

TEST_CASE("every op on every dtype, as parts of one kernel") {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    CAPTURE(text(dtype));
    const Pairs pairs = pairs_of(special_numbers(dtype));
    const Tensor& a = pairs.first;
    const Tensor& b = pairs.second;
    const Tensor condition = random_tensor(a.shape(), DType::Bool, 3);
    BodyBuilder builder;
    const ValueId in_a = builder.input(type_of(a)), in_b = builder.input(type_of(b));
    const ValueId in_condition = builder.input(type_of(condition));
    std::vector<std::string> names;
    for (const std::string_view name : elementwise_ops()) {
      const std::string op(name);
      if (op == "cast" || !is_served(op, a, b, condition)) continue;
      std::vector<ValueId> operands = {in_a};
      if (operand_count(op) >= 2) operands.push_back(in_b);
      if (operand_count(op) == 3) operands.insert(operands.begin(), in_condition);
      builder.output(builder.op(op, operands));
      names.push_back(op);
    }
    const std::vector<Tensor> inputs = {a, b, condition};
    const auto results = run_lowered("fused", inputs, builder.attributes(), builder.output_types());
    const auto expected = cpu::testing::run_one_by_one(builder.body(), inputs);
    for (size_t k = 0; k < names.size(); ++k) {
      CAPTURE(names[k]);
      cpu::testing::check_close(results[k], cpu::testing::values_of(expected[k]),
                                tolerance_of(dtype));
    }
  }
}

TEST_CASE("ops of their own") {
  for (const int64_t size : {0, 1, 7, 1025, 5000}) {
    CAPTURE(size);
    for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Int8}) {
      const Tensor a = random_tensor({size}, dtype, 1), b = random_tensor({size}, dtype, 2);
      check_like_cpu("subtract", {a, b}, {}, {type_of(a)});
      check_like_cpu("relu", {a}, {}, {type_of(a)});
    }
  }
  const Tensor a = random_tensor({}, DType::Float64, 1);
  check_like_cpu("tanh", {a}, {}, {type_of(a)}, 1e-12);
}

TEST_CASE("casts between all dtypes") {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto from = static_cast<DType>(i);
    CAPTURE(text(from));
    std::vector<Tensor> inputs = {special_numbers(from)};
    if (from != DType::Bool) {
      inputs[0] = pairs_of(inputs[0]).first;
      const std::vector<double> more = {1e30, -1e30, 2147483648.0, 255.5, -128.5, 1e-7, 65519};
      for (size_t k = 0; is_floating(from) && k < more.size(); ++k) {
        const Tensor one = tensor_of({more[k]}, {1}, from);
        std::memcpy(static_cast<std::byte*>(inputs[0].mutable_raw()) + k * size_of(from), one.raw(),
                    size_of(from));
      }
    }
    BodyBuilder builder;
    const ValueId x = builder.input(type_of(inputs[0]));
    for (int to = 0; to < kNumDTypes; ++to) {
      builder.output(builder.cast(x, static_cast<DType>(to)));
    }
    const auto results = run_lowered("fused", inputs, builder.attributes(), builder.output_types());
    const auto expected = cpu::testing::run_one_by_one(builder.body(), inputs);
    for (int to = 0; to < kNumDTypes; ++to) {
      CAPTURE(text(static_cast<DType>(to)));
      cpu::testing::check_close(results[size_t(to)], cpu::testing::values_of(expected[size_t(to)]),
                                0);
    }
  }
}

// ---- shapes ----

TEST_CASE("operands that broadcast along any axes") {
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{5, 8}, {8}},
      {{5, 7}, {7}},
      {{5, 1}, {1, 8}},
      {{300, 10}, {1}},
      {{}, {77}},
      {{2, 3, 4}, {3, 1}},
      {{2, 3, 8}, {2, 1, 8}},
      {{2, 1, 8}, {3, 8}},
      {{4, 1, 5, 16}, {1, 3, 1, 16}},
      {{3, 1, 1}, {2, 7}},
      {{2, 1, 3, 1}, {4, 1, 5}},
      {{0, 4}, {4}},
      {{2, 1, 3, 1, 2, 1}, {1, 2, 1, 3, 1, 24}},
  };
  for (const auto& shapes : cases) {
    const Shape& a = shapes.first;
    const Shape& b = shapes.second;
    CAPTURE(text(a));
    CAPTURE(text(b));
    for (const DType dtype : {DType::Float32, DType::Float16}) {
      const TensorType type = {dtype, broadcast_shapes(a, b, "subtract")};
      check_like_cpu("subtract", {random_tensor(a, dtype, 1), random_tensor(b, dtype, 2)}, {},
                     {type});
    }
  }
  check_like_cpu("select",
                 {random_tensor({5, 1}, DType::Bool, 1), random_tensor({8}, DType::Int32, 2),
                  random_tensor({5, 8}, DType::Int32, 3)},
                 {}, {{DType::Int32, {5, 8}}});
}

// ---- groups ----

// relu(x * f + s) with its sums, the sums of its products with x, and the sums of x alone;
// `arrays`: the summed arrays are outputs as well.
void check_sums(const Shape& shape, DType dtype, bool arrays, bool total) {
  CAPTURE(text(shape));
  const Shape vector = {shape.back()};
  BodyBuilder b;
  const ValueId x = b.input({dtype, shape});
  const ValueId f = b.input({dtype, vector}), s = b.input({dtype, vector});
  const ValueId y = b.op("relu", {b.op("add", {b.op("multiply", {x, f}), s})});
  const ValueId product = b.op("multiply", {y, x});
  if (arrays) b.output(y);
  b.output(b.sum(y));
  b.output(b.sum(product, total));
  if (arrays) b.output(product);
  b.output(b.sum(x, total));
  const std::vector<Tensor> inputs = {random_tensor(shape, dtype, 1),
                                      random_tensor(vector, dtype, 2),
                                      random_tensor(vector, dtype, 3)};
  const auto found = run_lowered("fused", inputs, b.attributes(), b.output_types());
  const auto expected = run_each_on_cpu(b.body(), inputs);
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    cpu::testing::check_close(found[i], cpu::testing::values_of(expected[i]),
                              is_half(dtype)            ? 2e-2
                              : dtype == DType::Float32 ? 1e-4
                                                        : 1e-11);
  }
}

TEST_CASE("sums of columns and of everything") {
  for (const Shape& shape : std::vector<Shape>{
           {2, 1}, {5, 3}, {4097, 1}, {64, 96}, {129, 255}, {2, 5000}, {4, 7, 5, 16}}) {
    check_sums(shape, DType::Float32, true, false);
    check_sums(shape, DType::Float32, false, true);
  }
  check_sums({1000, 144}, DType::Float64, true, true);
  for (const Shape& shape : std::vector<Shape>{{3, 5}, {640, 96}, {129, 255}, {2000, 1}}) {
    check_sums(shape, DType::BFloat16, true, false);
    check_sums(shape, DType::Float16, false, true);
  }
}

// The update of two moments and a parameter.
TEST_CASE("an optimizer's update, in place") {
  for (const DType dtype : {DType::Float32, DType::BFloat16}) {
    const TensorType type{dtype, {1003}};
    BodyBuilder b;
    const ValueId p = b.input(type), m = b.input(type), g = b.input(type),
                  rate = b.input({dtype, {}});
    const ValueId decay = b.constant(tensor_of({0.9}, {}, dtype));
    const ValueId m2 = b.op("add", {b.op("multiply", {decay, m}), g});
    b.output(b.op("subtract", {p, b.op("multiply", {rate, m2})}));
    b.output(m2);
    b.output(b.cast(m2, DType::Float64));
    check_like_cpu("fused",
                   {random_tensor(type.shape, dtype, 1), random_tensor(type.shape, dtype, 2),
                    random_tensor(type.shape, dtype, 3), tensor_of({0.001}, {}, dtype)},
                   b.attributes(), b.output_types(), tolerance_of(dtype));
  }
}

TEST_CASE("powers with constant exponents, and constants of every dtype") {
  const Tensor x = random_tensor({37}, DType::Float32, 1);
  BodyBuilder b;
  const ValueId in = b.input(type_of(x));
  for (const double exponent : {1.0, 2.0, -1.0, 3.0}) {
    b.output(b.op("power", {in, b.constant(tensor_of({exponent}, {}, DType::Float32))}));
  }
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    b.output(b.op("add", {b.cast(in, dtype), b.constant(tensor_of({1}, {}, dtype))}));
  }
  check_like_cpu("fused", {x}, b.attributes(), b.output_types(), 1e-6);
}

}  // namespace
}  // namespace cornu::cuda::testing
