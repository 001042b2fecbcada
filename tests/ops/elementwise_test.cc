// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "framework/autodiff/gradient_tape.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

struct UnaryCase {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*reference)(double);
  double low = -2;
  double high = 2;
  bool differentiable = true;
};

double sign_of(double x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); }

// Computed by bisection of erf.
double inverse_erf(double y) {
  double low = -6;
  double high = 6;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erf(middle) < y ? low : high) = middle;
  }
  return low;
}

const UnaryCase kUnaryCases[] = {
    {"negative", ops::negative, [](double x) { return -x; }},
    {"abs", ops::abs, [](double x) { return std::abs(x); }},
    {"absolute", ops::absolute, [](double x) { return std::abs(x); }},
    {"sign", ops::sign, sign_of, -2, 2, false},
    {"square", ops::square, [](double x) { return x * x; }},
    {"reciprocal", ops::reciprocal, [](double x) { return 1 / x; }, 0.5, 2},
    {"exp", ops::exp, [](double x) { return std::exp(x); }},
    {"expm1", ops::expm1, [](double x) { return std::expm1(x); }},
    {"log", ops::log, [](double x) { return std::log(x); }, 0.5, 3},
    {"log1p", ops::log1p, [](double x) { return std::log1p(x); }, -0.5, 3},
    {"log2", ops::log2, [](double x) { return std::log2(x); }, 0.5, 3},
    {"log10", ops::log10, [](double x) { return std::log10(x); }, 0.5, 3},
    {"sqrt", ops::sqrt, [](double x) { return std::sqrt(x); }, 0.5, 3},
    {"rsqrt", ops::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.5, 3},
    {"sin", ops::sin, [](double x) { return std::sin(x); }},
    {"cos", ops::cos, [](double x) { return std::cos(x); }},
    {"tan", ops::tan, [](double x) { return std::tan(x); }, -1, 1},
    {"arcsin", ops::arcsin, [](double x) { return std::asin(x); }, -0.8, 0.8},
    {"arccos", ops::arccos, [](double x) { return std::acos(x); }, -0.8, 0.8},
    {"arctan", ops::arctan, [](double x) { return std::atan(x); }},
    {"sinh", ops::sinh, [](double x) { return std::sinh(x); }},
    {"cosh", ops::cosh, [](double x) { return std::cosh(x); }},
    {"tanh", ops::tanh, [](double x) { return std::tanh(x); }},
    {"erf", ops::erf, [](double x) { return std::erf(x); }},
    {"erfinv", ops::erfinv, inverse_erf, -0.9, 0.9},
    {"floor", ops::floor, [](double x) { return std::floor(x); }, -5, 5, false},
    {"ceil", ops::ceil, [](double x) { return std::ceil(x); }, -5, 5, false},
    {"round", ops::round, [](double x) { return std::nearbyint(x); }, -5, 5, false},
};

TEST_CASE("unary elementwise ops: value, gradient, second-order gradient") {
  for (const UnaryCase& c : kUnaryCases) {
    INFO(c.name);
    const Shape shape = {3, 5};
    const Tensor x = random_tensor(shape, c.low, c.high);
    std::vector<double> expected;
    for (double value : to_doubles(x)) expected.push_back(c.reference(value));
    check_op([&](const std::vector<Tensor>& in) { return c.op(in[0]); }, {x}, shape, expected,
             {.differentiable = c.differentiable});
  }
}

TEST_CASE("round: half to even") {
  check_values(ops::round(Tensor::from(std::vector<float>{0.5f, 1.5f, 2.5f, -0.5f, -1.5f})), {5},
               {0, 2, 2, 0, -2});
}

struct BinaryCase {
  const char* name;
  Tensor (*op)(const Tensor&, const Tensor&);
  double (*reference)(double, double);
  double low = -2;
  double high = 2;
  bool differentiable = true;
};

double floor_mod(double a, double b) { return a - b * std::floor(a / b); }

const BinaryCase kBinaryCases[] = {
    {"add", ops::add, [](double a, double b) { return a + b; }},
    {"subtract", ops::subtract, [](double a, double b) { return a - b; }},
    {"multiply", ops::multiply, [](double a, double b) { return a * b; }},
    {"divide", ops::divide, [](double a, double b) { return a / b; }, 0.5, 2},
    {"true_divide", ops::true_divide, [](double a, double b) { return a / b; }, 0.5, 2},
    {"divide_no_nan", ops::divide_no_nan, [](double a, double b) { return a / b; }, 0.5, 2},
    {"power", ops::power, [](double a, double b) { return std::pow(a, b); }, 0.5, 2},
    {"maximum", ops::maximum, [](double a, double b) { return std::max(a, b); }},
    {"minimum", ops::minimum, [](double a, double b) { return std::min(a, b); }},
    {"arctan2", ops::arctan2, [](double a, double b) { return std::atan2(a, b); }, 0.5, 2},
    {"mod", ops::mod, floor_mod, 0.7, 3},
    {"floor_divide", ops::floor_divide, [](double a, double b) { return std::floor(a / b); }, 0.5,
     3, false},
    {"squared_difference", ops::squared_difference,
     [](double a, double b) { return (a - b) * (a - b); }},
    {"logaddexp", ops::logaddexp,
     [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); }},
};

TEST_CASE("binary elementwise ops: value with broadcasting, gradients") {
  const std::pair<Shape, Shape> shapes[] = {{{2, 3}, {2, 3}}, {{2, 3}, {3}},       {{2, 1}, {1, 3}},
                                            {{}, {2, 2}},     {{2, 1, 2}, {3, 1}}, {{0, 3}, {3}}};
  for (const BinaryCase& c : kBinaryCases) {
    for (const auto& operands : shapes) {
      const Shape& first = operands.first;
      const Shape& second = operands.second;
      INFO(c.name << " of " << first.to_string() << " and " << second.to_string());
      const Tensor a = random_tensor(first, c.low, c.high, 5);
      const Tensor b = random_tensor(second, c.low, c.high, 6);
      const Shape shape = broadcast_shapes(first, second, "test");
      std::vector<double> expected;
      for (const auto& index : indices_of(shape)) {
        expected.push_back(c.reference(to_doubles(a)[offset_of(first, index)],
                                       to_doubles(b)[offset_of(second, index)]));
      }
      check_op([&](const std::vector<Tensor>& in) { return c.op(in[0], in[1]); }, {a, b}, shape,
               expected, {.differentiable = c.differentiable});
    }
  }
}

TEST_CASE("power: gradients at a base of 0") {
  const Tensor x = Tensor::from(std::vector<double>{0, 2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor squared = ops::power(x, 2);
  const Tensor one = ops::power(x, 0.0);
  check_values(tape.gradient(squared, x), {2}, {0, 4});
  check_values(tape.gradient(one, x), {2}, {0, 0});
  const Tensor exponent = Tensor::scalar(2.0);
  tape.watch(exponent);
  check_values(tape.gradient(ops::power(x, exponent), exponent), {}, {4 * std::log(2.0)});
}

TEST_CASE("maximum and minimum: equal operands give the gradient to the first") {
  const Tensor a = Tensor::from(std::vector<double>{1, 2});
  const Tensor b = Tensor::from(std::vector<double>{1, 3});
  for (const auto op : {ops::maximum, ops::minimum}) {
    GradientTape tape;
    tape.watch(a);
    tape.watch(b);
    const auto gradients = tape.gradient(op(a, b), {a, b});
    CHECK(to_doubles(gradients[0])[0] == 1);
    CHECK(to_doubles(gradients[1])[0] == 0);
  }
}

TEST_CASE("special values") {
  const Tensor x = Tensor::from(std::vector<double>{kNaN, kInf, -kInf, 0, 1});
  check_values(ops::isnan(x), {5}, {1, 0, 0, 0, 0});
  check_values(ops::isinf(x), {5}, {0, 1, 1, 0, 0});
  check_values(ops::isfinite(x), {5}, {0, 0, 0, 1, 1});
  CHECK(ops::isnan(x).dtype() == DType::Bool);
  check_values(ops::maximum(x, 0), {5}, {kNaN, kInf, 0, 0, 1});
  check_values(ops::minimum(x, 0), {5}, {kNaN, 0, -kInf, 0, 0});
  check_values(ops::sign(x), {5}, {kNaN, 1, -1, 0, 1});
  check_values(ops::logaddexp(x, -kInf), {5}, {kNaN, kInf, -kInf, 0, 1});
  check_values(ops::divide_no_nan(x, 0), {5}, {0, 0, 0, 0, 0});
}

TEST_CASE("comparisons and logical ops") {
  const Tensor a = random_ints({2, 3}, 0, 3, DType::Int32, 3);
  const Tensor b = random_ints({3}, 0, 3, DType::Int32, 4);
  struct Case {
    Tensor (*op)(const Tensor&, const Tensor&);
    bool (*reference)(double, double);
  };
  const Case cases[] = {
      {ops::equal, [](double x, double y) { return x == y; }},
      {ops::not_equal, [](double x, double y) { return x != y; }},
      {ops::less, [](double x, double y) { return x < y; }},
      {ops::less_equal, [](double x, double y) { return x <= y; }},
      {ops::greater, [](double x, double y) { return x > y; }},
      {ops::greater_equal, [](double x, double y) { return x >= y; }},
      {ops::logical_and, [](double x, double y) { return x != 0 && y != 0; }},
      {ops::logical_or, [](double x, double y) { return x != 0 || y != 0; }},
      {ops::logical_xor, [](double x, double y) { return (x != 0) != (y != 0); }},
  };
  for (const Case& c : cases) {
    std::vector<double> expected;
    for (const auto& index : indices_of({2, 3})) {
      expected.push_back(c.reference(to_doubles(a)[offset_of({2, 3}, index)],
                                     to_doubles(b)[offset_of({3}, index)]));
    }
    const Tensor result =
        check_compiled([&](const std::vector<Tensor>& in) { return c.op(in[0], in[1]); }, {a, b});
    CHECK(result.dtype() == DType::Bool);
    check_values(result, {2, 3}, expected);
  }
  check_values(ops::logical_not(Tensor::from(std::vector<float>{0, 2})), {2}, {1, 0});
}

TEST_CASE("where and clip: value and gradient") {
  const Tensor condition = ops::cast(random_ints({2, 3}, 0, 2), DType::Bool);
  const Tensor a = random_tensor({3}, -2, 2, 2);
  const Tensor b = random_tensor({2, 1}, -2, 2, 3);
  std::vector<double> expected;
  for (const auto& index : indices_of({2, 3})) {
    expected.push_back(to_doubles(condition)[offset_of({2, 3}, index)] != 0
                           ? to_doubles(a)[offset_of({3}, index)]
                           : to_doubles(b)[offset_of({2, 1}, index)]);
  }
  check_op([](const std::vector<Tensor>& in) { return ops::where(in[0], in[1], in[2]); },
           {condition, a, b}, {2, 3}, expected);

  const Tensor x = random_tensor({4, 4});
  std::vector<double> clipped;
  for (double value : to_doubles(x)) clipped.push_back(std::min(std::max(value, -1.0), 0.5));
  check_op([](const std::vector<Tensor>& in) { return ops::clip(in[0], -1, 0.5); }, {x}, {4, 4},
           clipped);
  GradientTape tape;
  const Tensor edges = Tensor::from(std::vector<double>{-2, -1, 0, 1, 2});
  tape.watch(edges);
  check_values(tape.gradient(ops::clip(edges, -1, 1), edges), {5}, {0, 1, 1, 1, 0});
}

TEST_CASE("clip: dtypes of values and bounds, on the first and on later calls") {
  const Tensor bytes = Tensor::from<uint8_t>({0, 1, 2, 250}, {4});
  const Tensor integers = Tensor::from<int>({-3, 0, 2, 9}, {4});
  const Tensor reals = Tensor::from<float>({-3, 0.25, 2, 9}, {4});
  const Tensor bools = ops::not_equal(integers, 2);
  const auto expect = [](const Tensor& clipped, DType dtype, const std::vector<double>& values) {
    CHECK(clipped.dtype() == dtype);
    check_values(clipped, {4}, values);
  };
  for (int call = 0; call < 4; ++call) {
    expect(ops::clip(bytes, 1, 200), DType::UInt8, {1, 1, 2, 200});
    expect(ops::clip(integers, -1, 3), DType::Int32, {-1, 0, 2, 3});
    expect(ops::clip(integers, -0.5, 3), DType::Float32, {-0.5, 0, 2, 3});
    expect(ops::clip(integers, 0, 2.5), DType::Float32, {0, 0, 2, 2.5});
    expect(ops::clip(integers, Tensor::scalar(int64_t{1}), Tensor::scalar(2.5f)), DType::Float32,
           {1, 1, 2, 2.5});
    expect(ops::clip(reals, Tensor::scalar(0.5), 3), DType::Float64, {0.5, 0.5, 2, 3});
    expect(ops::clip(reals, reals, 1), DType::Float32, {-3, 0.25, 1, 1});
    expect(ops::clip(bools, bools, bytes), DType::Int32, {0, 1, 0, 1});
    CHECK_THROWS_WITH_AS(ops::clip(bytes, -1, 200), doctest::Contains("clip: maximum: "),
                         InvalidArgument);
  }
}

TEST_CASE("cast: every pair of dtypes") {
  const std::vector<double> values = {0, 1, 2, 3};
  for (int from = 0; from < kNumDTypes; ++from) {
    for (int to = 0; to < kNumDTypes; ++to) {
      const auto source = static_cast<DType>(from);
      const auto target = static_cast<DType>(to);
      INFO(to_string(source) << " to " << to_string(target));
      const Tensor x = ops::cast(Tensor::from(values), source);
      const Tensor y = ops::cast(x, target);
      CHECK(y.dtype() == target);
      std::vector<double> expected;
      for (double value : values) {
        const bool flag = source == DType::Bool || target == DType::Bool;
        expected.push_back(flag ? (value != 0) : value);
      }
      check_values(y, {4}, expected);
    }
  }
  check_values(ops::cast(Tensor::from(std::vector<float>{-1.7f, 1.7f}), DType::Int32), {2},
               {-1, 1});
  check_op([](const std::vector<Tensor>& in) { return ops::cast(in[0], DType::Float64); },
           {random_tensor({3})}, {3}, to_doubles(random_tensor({3})));
}

TEST_CASE("integers: division by zero, signs of floor_divide and mod") {
  const Tensor a = Tensor::from(std::vector<int32_t>{7, -7, 7, -7, 5});
  const Tensor b = Tensor::from(std::vector<int32_t>{2, 2, -2, -2, 0});
  check_values(ops::floor_divide(a, b), {5}, {3, -4, -4, 3, 0});
  check_values(ops::mod(a, b), {5}, {1, 1, -1, -1, 0});
  const Tensor quotient = ops::divide(a, b);
  CHECK(quotient.dtype() == DType::Float32);
  check_values(quotient, {5}, {3.5, -3.5, -3.5, 3.5, kInf});
}

}  // namespace
}  // namespace cornu::testing
