// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/backends/cuda/kernels/elementwise/body.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using cpu::testing::tensor_of;

constexpr DType kEveryDtype[] = {DType::Bool,     DType::UInt8,   DType::Int8,   DType::Int32,
                                 DType::Int64,    DType::UInt32,  DType::UInt64, DType::Float16,
                                 DType::BFloat16, DType::Float32, DType::Float64};

// Relative, of functions: those of CUDA and of the host differ in the last bits.
double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return 2e-3;
    case DType::BFloat16:
      return 2e-2;
    case DType::Float32:
      return 2e-6;
    case DType::Float64:
      return 1e-12;
    default:
      return 0;
  }
}

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, op) != names.end();
}

bool is_unary(const OpDef& op) {
  try {
    const TensorType type{DType::Float32, {2}};
    op.infer({&type, 1}, {});
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Where the op has a value.
Tensor operand_for(std::string_view op, const Shape& shape, DType dtype, uint64_t seed) {
  Tensor x = random_tensor(shape, dtype, seed);
  if (!is_floating(dtype)) {
    const bool small = is_one_of(op, {"left_shift", "right_shift", "power", "floor_divide", "mod"});
    if (!small || dtype == DType::Bool) return x;
    std::vector<double> values = cpu::testing::values_of(x);
    for (double& value : values) value = std::abs(value) + 1;
    return tensor_of(values, shape, dtype);
  }
  if (!is_one_of(op, {"log", "sqrt", "rsqrt", "power"})) return x;
  std::vector<double> values = cpu::testing::values_of(x);
  for (double& value : values) value = std::abs(value) + 0.1;
  return tensor_of(values, shape, dtype);
}

}  // namespace

TEST_CASE("CUDA: every elementwise op on every dtype that the CPU takes") {
  for (const std::string_view name : elementwise_ops()) {
    if (is_one_of(name, {"cast", "select"})) continue;
    const OpDef& op = OpRegistry::global().at(name);
    CAPTURE(std::string(name));
    for (const DType dtype : kEveryDtype) {
      CAPTURE(fmt::format("{}", dtype));
      std::vector<Tensor> inputs = {operand_for(name, {3, 37}, dtype, 1)};
      if (!is_unary(op)) inputs.push_back(operand_for(name, {3, 37}, dtype, 2));
      std::vector<TensorType> types;
      for (const Tensor& input : inputs) types.push_back(type_of(input));
      std::vector<TensorType> outputs;
      try {
        outputs = op.infer(types, {});
      } catch (const Error&) {
        continue;  // the op isn't for this dtype
      }
      if (!has_lowering(op.name, inputs, {}, outputs)) continue;
      check_like_cpu(op.name, inputs, {}, outputs, tolerance_of(dtype));
    }
  }
}

TEST_CASE("CUDA: broadcasting") {
  const auto check = [](const Shape& a, const Shape& b) {
    CAPTURE(fmt::format("{} {}", a, b));
    check_like_cpu("add",
                   {random_tensor(a, DType::Float32, 1), random_tensor(b, DType::Float32, 2)}, {});
  };
  check({5, 8}, {8});
  check({5, 8}, {5, 1});
  check({5, 8}, {});
  check({}, {});
  check({5, 1}, {1, 7});
  check({2, 3, 4, 5}, {3, 1, 5});
  check({2, 3, 4, 5}, {2, 1, 4, 1});
  check({1025}, {1});
  check({0, 3}, {3});
  check({3, 1030}, {1030});
}

TEST_CASE("CUDA: casts between all dtypes") {
  for (const DType from : kEveryDtype) {
    for (const DType to : kEveryDtype) {
      CAPTURE(fmt::format("{} to {}", from, to));
      Attributes attributes;
      attributes.set("dtype", to);
      // Positive numbers: what negative ones are as unsigned is no one's promise.
      std::vector<double> values = {0, 1, 2.75, 100.5, 7, 3, 0.25, 12, 1};
      check_like_cpu("cast", {tensor_of(values, {9}, from)}, attributes, {{to, {9}}});
    }
  }
}

TEST_CASE("CUDA: select, and special numbers") {
  const Tensor condition = tensor_of({1, 0, 1, 0, 0}, {5}, DType::Bool);
  const Tensor x = tensor_of({NAN, INFINITY, -INFINITY, -0.0, 1}, {5}, DType::Float32);
  const Tensor y = tensor_of({1, NAN, 2, 0, -1}, {5}, DType::Float32);
  check_like_cpu("select", {condition, x, y}, {});
  check_like_cpu("select", {condition, x, tensor_of({7}, {1}, DType::Float32)}, {},
                 {{DType::Float32, {5}}});
  for (const char* op : {"maximum", "minimum", "less", "equal", "add", "multiply"}) {
    check_like_cpu(op, {x, y}, {});
  }
  for (const char* op : {"relu", "sign", "abs", "is_nan", "is_inf", "exp", "tanh", "floor"}) {
    check_like_cpu(op, {x}, {}, 1e-6);
  }
}

}  // namespace cornu::cuda::testing
