// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <limits>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

const KernelRunner& kernels() {
  static const KernelRunner runner(register_elementwise_kernels);
  return runner;
}

Tensor run1(const std::string& op, const std::vector<Tensor>& inputs, const TensorType& output,
            const Attributes& attributes = {}) {
  return kernels().run(op, inputs, attributes, {output})[0];
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct UnaryCase {
  std::string op;
  double (*reference)(double);
  double low;
  double high;
  double ulps = 3;  // largest error in units of the last place
};

double reference_erf_inv(double y) {
  // Newton's iteration from below, where the function is convex.
  double x = 0;
  for (int i = 0; i < 200; ++i) {
    const double error = y < 0.5 ? std::erf(x) - y : (1 - y) - std::erfc(x);
    x -= error / (1.1283791670955126 * std::exp(-x * x));
  }
  return x;
}

const UnaryCase kUnary[] = {
    {"identity", [](double x) { return x; }, -9, 9, 0},
    {"stop_gradient", [](double x) { return x; }, -9, 9, 0},
    {"negate", [](double x) { return -x; }, -9, 9, 0},
    {"abs", [](double x) { return std::abs(x); }, -9, 9, 0},
    {"sign", [](double x) { return std::isnan(x) ? x : double((x > 0) - (x < 0)); }, -9, 9, 0},
    {"exp", [](double x) { return std::exp(x); }, -80, 80, 1},
    {"exp2", [](double x) { return std::exp2(x); }, -120, 120, 1},
    {"expm1", [](double x) { return std::expm1(x); }, -20, 20, 2},
    {"expm1", [](double x) { return std::expm1(x); }, -0.5, 0.5, 2},
    {"log", [](double x) { return std::log(x); }, 0, 50, 1},
    {"log1p", [](double x) { return std::log1p(x); }, -0.999, 9},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 99, 0.5},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0, 99, 1.5},
    {"square", [](double x) { return x * x; }, -9, 9, 0.5},
    {"reciprocal", [](double x) { return 1 / x; }, -9, 9, 0.5},
    {"sin", [](double x) { return std::sin(x); }, -3, 3},
    {"cos", [](double x) { return std::cos(x); }, -1.5, 1.5},
    {"tan", [](double x) { return std::tan(x); }, -1.5, 1.5, 5},
    {"asin", [](double x) { return std::asin(x); }, -1, 1},
    {"acos", [](double x) { return std::acos(x); }, -1, 1},
    {"atan", [](double x) { return std::atan(x); }, -9, 9},
    {"sinh", [](double x) { return std::sinh(x); }, -9, 9},
    {"cosh", [](double x) { return std::cosh(x); }, -9, 9},
    {"tanh", [](double x) { return std::tanh(x); }, -9, 9},
    {"erf", [](double x) { return std::erf(x); }, -5, 5},
    {"erfc", [](double x) { return std::erfc(x); }, -3, 9},
    {"erf_inv", reference_erf_inv, 0, 0.999, 2},
    {"floor", [](double x) { return std::floor(x); }, -9, 9, 0},
    {"ceil", [](double x) { return std::ceil(x); }, -9, 9, 0},
    {"round", [](double x) { return std::nearbyint(x); }, -9, 9, 0},
    {"relu", [](double x) { return x < 0 ? 0 : x; }, -9, 9, 0},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, -40, 40, 2.5},
};

// `count` values from `low` to `high`, unordered.
template <class T>
Tensor spread(double low, double high, int64_t count) {
  Tensor tensor = Tensor::empty({count}, dtype_of<T>);
  PhiloxEngine engine(7);
  for (T& value : tensor.mutable_data<T>()) {
    value = static_cast<T>(low + (high - low) * engine.uniform());
  }
  return tensor;
}

template <class T>
double unit_of(double value) {
  const T rounded = std::max(std::abs(static_cast<T>(value)), std::numeric_limits<T>::min());
  return static_cast<double>(std::nextafter(rounded, std::numeric_limits<T>::infinity())) -
         static_cast<double>(rounded);
}

// The largest error in units of the last place. float64 references have errors of their own.
template <class T>
double largest_error(const UnaryCase& test, const Tensor& x, const Tensor& y) {
  const auto in = x.data<T>();
  const auto out = y.data<T>();
  double largest = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    const double expected = test.reference(in[i]);
    largest = std::max(largest, std::abs(out[i] - expected) / unit_of<T>(expected));
  }
  return largest;
}

template <class T>
void check_unary() {
  for (const UnaryCase& test : kUnary) {
    CAPTURE(test.op);
    const Tensor x = spread<T>(test.low, test.high, 20011);
    const double slack = std::is_same_v<T, double> ? 1 : 0.01;
    CHECK(largest_error<T>(test, x, run1(test.op, {x}, type_of(x))) <= test.ulps + slack);
  }
}

TEST_CASE("unary functions are accurate, on every instruction set") {
  for_each_instruction_set([] {
    check_unary<float>();
    check_unary<double>();
  });
}

struct SpecialCase {
  std::string op;
  std::vector<double> in;
  std::vector<double> out;
};

const SpecialCase kSpecial[] = {
    {"exp", {kNan, kInfinity, -kInfinity, 0, 1000, -1000}, {kNan, kInfinity, 0, 1, kInfinity, 0}},
    {"exp2",
     {kNan, kInfinity, -kInfinity, 0, 3, -14, 2000, -2000},
     {kNan, kInfinity, 0, 1, 8, 0x1p-14, kInfinity, 0}},
    {"expm1", {kNan, kInfinity, -kInfinity, 1000, -1000}, {kNan, kInfinity, -1, kInfinity, -1}},
    {"log", {kNan, kInfinity, -kInfinity, 0, -1, 1}, {kNan, kInfinity, kNan, -kInfinity, kNan, 0}},
    {"log1p",
     {kNan, kInfinity, -kInfinity, -1, -2, 0},
     {kNan, kInfinity, kNan, -kInfinity, kNan, 0}},
    {"sqrt", {kNan, kInfinity, -1, 0}, {kNan, kInfinity, kNan, 0}},
    {"rsqrt", {kNan, kInfinity, -1, 0}, {kNan, 0, kNan, kInfinity}},
    {"reciprocal", {kNan, kInfinity, 0}, {kNan, 0, kInfinity}},
    {"sin", {kNan, kInfinity, 0}, {kNan, kNan, 0}},
    {"cos", {kNan, -kInfinity, 0}, {kNan, kNan, 1}},
    {"tan", {kNan, kInfinity, 0}, {kNan, kNan, 0}},
    {"asin", {kNan, 2, -2, 0}, {kNan, kNan, kNan, 0}},
    {"acos", {kNan, 2, -2, 1}, {kNan, kNan, kNan, 0}},
    {"atan", {kNan, 0}, {kNan, 0}},
    {"sinh", {kNan, kInfinity, -kInfinity, 0}, {kNan, kInfinity, -kInfinity, 0}},
    {"cosh", {kNan, kInfinity, -kInfinity, 0}, {kNan, kInfinity, kInfinity, 1}},
    {"tanh", {kNan, kInfinity, -kInfinity, 50, 0}, {kNan, 1, -1, 1, 0}},
    {"erf", {kNan, kInfinity, -kInfinity, 0, 50}, {kNan, 1, -1, 0, 1}},
    {"erfc", {kNan, kInfinity, -kInfinity, 0, 50}, {kNan, 0, 2, 1, 0}},
    {"erf_inv", {kNan, 1, -1, 0, 2}, {kNan, kInfinity, -kInfinity, 0, kNan}},
    {"sigmoid", {kNan, kInfinity, -kInfinity, 0}, {kNan, 1, 0, 0.5}},
    {"relu", {kNan, kInfinity, -kInfinity, 0}, {kNan, kInfinity, 0, 0}},
    {"sign", {kNan, kInfinity, -kInfinity, 0}, {kNan, 1, -1, 0}},
    {"round", {0.5, 1.5, 2.5, -0.5, -1.5, kInfinity}, {0, 2, 2, 0, -2, kInfinity}},
};

TEST_CASE("unary functions have the special values of <cmath>") {
  for_each_instruction_set([] {
    for (const SpecialCase& test : kSpecial) {
      CAPTURE(test.op);
      for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16}) {
        const Tensor x = tensor_of(test.in, {static_cast<int64_t>(test.in.size())}, dtype);
        check_close(run1(test.op, {x}, type_of(x)), test.out, 0);
      }
    }
  });
}

TEST_CASE("results near the ends of the range") {
  const Tensor x = tensor_of({88.7, -87.5, -100, 89.3, -89.3}, {5}, DType::Float32);
  const auto in = x.data<float>();
  const auto exp = run1("exp", {x}, type_of(x)).to_vector<float>();
  const auto sinh = run1("sinh", {x}, type_of(x)).to_vector<float>();
  const auto cosh = run1("cosh", {x}, type_of(x)).to_vector<float>();
  for (size_t i = 0; i < in.size(); ++i) {
    CHECK((exp[i] == std::exp(in[i]) || std::abs(exp[i] / std::exp(in[i]) - 1) < 1e-5));
    CHECK((sinh[i] == std::sinh(in[i]) || std::abs(sinh[i] / std::sinh(in[i]) - 1) < 1e-6));
    CHECK((cosh[i] == std::cosh(in[i]) || std::abs(cosh[i] / std::cosh(in[i]) - 1) < 1e-6));
  }
  const Tensor powers =
      tensor_of({-151, -150.5, -149, -140.3, -126.5, 127, 127.9, 128}, {8}, DType::Float32);
  const auto exp2 = run1("exp2", {powers}, type_of(powers)).to_vector<float>();
  for (size_t i = 0; i < exp2.size(); ++i) {
    const float expected = std::exp2(powers.data<float>()[i]);
    CHECK((exp2[i] == expected || std::abs(exp2[i] - expected) <= std::abs(expected) * 3e-7f));
  }
  const Tensor far = tensor_of({1e5, -3e7, 1e30, 4e4}, {4}, DType::Float32);
  const auto sin = run1("sin", {far}, type_of(far)).to_vector<float>();
  for (size_t i = 0; i < sin.size(); ++i) {
    CHECK(sin[i] == doctest::Approx(std::sin(far.data<float>()[i])).epsilon(1e-6));
  }
  const Tensor zero = tensor_of({-0.0}, {1}, DType::Float32);
  for (const std::string op :
       {"expm1", "log1p", "sin", "tan", "tanh", "sinh", "erf", "asin", "atan"}) {
    CAPTURE(op);
    CHECK(std::signbit(run1(op, {zero}, type_of(zero)).data<float>()[0]));
  }
}

TEST_CASE("an element has the same bits wherever it stands, vector tails included") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      for (const UnaryCase& test : kUnary) {
        CAPTURE(test.op);
        const Tensor all = dtype == DType::Float32 ? spread<float>(test.low, test.high, 211)
                                                   : spread<double>(test.low, test.high, 211);
        const Tensor whole = run1(test.op, {all}, type_of(all));
        for (const int64_t begin : {0, 1, 5}) {
          for (int64_t count = 1; begin + count <= 211; count += 7) {
            const Tensor part = run1(test.op, {all.rows(begin, begin + count)}, {dtype, {count}});
            const Tensor expected = whole.rows(begin, begin + count);
            REQUIRE(std::memcmp(part.raw(), expected.raw(), part.bytes()) == 0);
          }
        }
      }
    }
  });
}

// A program that traps invalid operations stops at none of lanes that have no element.
TEST_CASE("operations are invalid only if an element's is") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      const Tensor all =
          dtype == DType::Float32 ? spread<float>(1, 9, 80) : spread<double>(1, 9, 80);
      for (const std::string op : {"divide", "mod", "floor_divide", "power", "atan2"}) {
        for (int64_t count = 1; count <= 40; ++count) {
          std::feclearexcept(FE_INVALID);
          run1(op, {all.rows(0, count), all.rows(40, 40 + count)}, {dtype, {count}});
          REQUIRE_MESSAGE(std::fetestexcept(FE_INVALID) == 0, op << " of " << count);
        }
      }
    }
  });
}

// ---- two operands ----

template <class T>
using Function = T (*)(T, T);

template <class T>
struct BinaryCase {
  std::string op;
  Function<T> reference;
};

template <class T>
std::vector<BinaryCase<T>> arithmetic_cases() {
  return {
      {"add", [](T a, T b) { return static_cast<T>(a + b); }},
      {"subtract", [](T a, T b) { return static_cast<T>(a - b); }},
      {"multiply", [](T a, T b) { return static_cast<T>(a * b); }},
      {"maximum", [](T a, T b) { return std::max(a, b); }},
      {"minimum", [](T a, T b) { return std::min(a, b); }},
  };
}

template <class T>
std::vector<BinaryCase<T>> division_cases() {
  if constexpr (std::is_floating_point_v<T>) {
    return {
        {"divide", [](T a, T b) { return a / b; }},
        {"power", [](T a, T b) { return static_cast<T>(std::pow(double{a}, double{b})); }},
        {"atan2", [](T a, T b) { return std::atan2(a, b); }},
        {"floor_divide", [](T a, T b) { return std::floor(a / b); }},
    };
  } else {
    return {
        {"floor_divide",
         [](T a, T b) {
           return b == 0 ? T{0} : static_cast<T>(std::floor(double(a) / double(b)));
         }},
        {"mod",
         [](T a, T b) {
           return b == 0
                      ? T{0}
                      : static_cast<T>(double(a) - std::floor(double(a) / double(b)) * double(b));
         }},
    };
  }
}

template <class T>
Tensor numbers(int64_t count, uint64_t seed) {
  Tensor tensor = Tensor::empty({count}, dtype_of<T>);
  PhiloxEngine engine(seed);
  for (T& value : tensor.mutable_data<T>()) {
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(4 * engine.uniform() - 1.9);
    } else {
      value = static_cast<T>(engine.below(15)) - static_cast<T>(std::is_signed_v<T> ? 7 : 0);
    }
  }
  return tensor;
}

template <class T>
void check_binary(const std::vector<BinaryCase<T>>& cases) {
  const Tensor a = numbers<T>(1003, 1);
  const Tensor b = numbers<T>(1003, 2);
  for (const BinaryCase<T>& test : cases) {
    CAPTURE(test.op);
    CAPTURE(dtype_of<T>);
    const Tensor out = run1(test.op, {a, b}, type_of(a));
    for (int64_t i = 0; i < 1003; ++i) {
      const T expected = test.reference(a.data<T>()[size_t(i)], b.data<T>()[size_t(i)]);
      const T result = out.data<T>()[size_t(i)];
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(expected)) {
          REQUIRE(std::isnan(result));
        } else {
          REQUIRE(std::abs(result - expected) <= unit_of<T>(expected));
        }
      } else {
        REQUIRE(result == expected);
      }
    }
  }
}

TEST_CASE("arithmetic of every dtype") {
  for_each_instruction_set([] {
    for (int i = 0; i < kNumDTypes; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (size_of(dtype) == 2 || dtype == DType::Bool) continue;
      dispatch_dtype(dtype, []<class T>(T) {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
          check_binary(arithmetic_cases<T>());
          check_binary(division_cases<T>());
        }
      });
    }
  });
}

TEST_CASE("bits of integers: shifts too far leave nothing but the sign") {
  for_each_instruction_set([&] {
    const Tensor a = Tensor::from(std::vector<int8_t>{12, -12, 1, -1, 127, -128, 5});
    const Tensor b = Tensor::from(std::vector<int8_t>{10, 3, 7, 8, -1, 100, 0});
    const TensorType type = type_of(a);
    CHECK(run1("bitwise_and", {a, b}, type).to_vector<int8_t>() ==
          std::vector<int8_t>{8, 0, 1, 8, 127, 0, 0});
    CHECK(run1("bitwise_or", {a, b}, type).to_vector<int8_t>() ==
          std::vector<int8_t>{14, -9, 7, -1, -1, -28, 5});
    CHECK(run1("bitwise_xor", {a, b}, type).to_vector<int8_t>() ==
          std::vector<int8_t>{6, -9, 6, -9, -128, -28, 5});
    CHECK(run1("left_shift", {a, b}, type).to_vector<int8_t>() ==
          std::vector<int8_t>{0, -96, -128, 0, 0, 0, 5});
    CHECK(run1("right_shift", {a, b}, type).to_vector<int8_t>() ==
          std::vector<int8_t>{0, -2, 0, -1, 0, -1, 5});
    const Tensor wide = Tensor::from(std::vector<uint64_t>{1, ~uint64_t{0}, 3});
    const Tensor by = Tensor::from(std::vector<uint64_t>{63, 64, 1});
    CHECK(run1("left_shift", {wide, by}, type_of(wide)).to_vector<uint64_t>() ==
          std::vector<uint64_t>{uint64_t{1} << 63, 0, 6});
    CHECK(run1("right_shift", {wide, by}, type_of(wide)).to_vector<uint64_t>() ==
          std::vector<uint64_t>{0, 0, 1});
  });
}

TEST_CASE("integers wrap around, and division by zero gives zero") {
  for_each_instruction_set([&] {
    const int32_t lowest = std::numeric_limits<int32_t>::lowest();
    const Tensor a = Tensor::from(std::vector<int32_t>{lowest, lowest, 7, -7, 7, -7, 2, -2, 3});
    const Tensor b = Tensor::from(std::vector<int32_t>{-1, 0, 0, 2, -2, -2, 31, -1, 5});
    const TensorType type = type_of(a);
    CHECK(run1("floor_divide", {a, b}, type).to_vector<int32_t>() ==
          std::vector<int32_t>{lowest, 0, 0, -4, -4, 3, 0, 2, 0});
    CHECK(run1("mod", {a, b}, type).to_vector<int32_t>() ==
          std::vector<int32_t>{0, 0, 0, 1, -1, -1, 2, 0, 3});
    CHECK(run1("power", {a, b}, type).to_vector<int32_t>() ==
          std::vector<int32_t>{0, 1, 1, 49, 0, 0, lowest, 0, 243});
    CHECK(run1("negate", {a}, type).data<int32_t>()[0] == lowest);
    CHECK(run1("abs", {a}, type).data<int32_t>()[3] == 7);
    CHECK(run1("sign", {a}, type).to_vector<int32_t>() ==
          std::vector<int32_t>{-1, -1, 1, -1, 1, -1, 1, -1, 1});
    CHECK(run1("square", {a}, type).data<int32_t>()[2] == 49);
    CHECK(kernels().make("sqrt", {a}, {}, {type}) == nullptr);
  });
}

TEST_CASE("floating-point division with the sign of Python") {
  const Tensor a = tensor_of({5.5, -5.5, 5.5, -5.5, 6, 1, kNan, 3, 0.3}, {9}, DType::Float64);
  const Tensor b = tensor_of({2, 2, -2, -2, -2, kInfinity, 1, 0, 0.1}, {9}, DType::Float64);
  check_close(run1("floor_divide", {a, b}, type_of(a)), {2, -3, -3, 2, -3, 0, kNan, kInfinity, 2},
              0);
  check_close(run1("mod", {a, b}, type_of(a)),
              {1.5, 0.5, -0.5, -1.5, 0, 1, kNan, kNan, std::fmod(0.3, 0.1)}, 0);
}

template <class T>
void check_division_like_python() {
  PhiloxEngine engine(7);
  std::vector<double> as, bs;
  for (int i = 0; i < 20'000; ++i) {
    const double scale = std::exp2(static_cast<double>(i % 81) - 40);
    as.push_back((engine.uniform() - 0.5) * scale);
    bs.push_back(engine.uniform() - 0.5);
    if (i % 5 == 0) as.back() = std::round(as.back());  // also multiples, and zeros
    if (i % 5 == 0) bs.back() = static_cast<double>(engine.below(9)) / 4 - 1;
  }
  const Tensor a = tensor_of(as, {20'000}, dtype_of<T>), b = tensor_of(bs, {20'000}, dtype_of<T>);
  const Tensor rest = run1("mod", {a, b}, type_of(a));
  const Tensor quotient = run1("floor_divide", {a, b}, type_of(a));
  for (size_t i = 0; i < as.size(); ++i) {
    const T x = a.data<T>()[i], y = b.data<T>()[i];
    T expected = std::fmod(x, y);  // exact
    if (expected != 0 && (expected < 0) != (y < 0)) expected += y;
    const T result = rest.data<T>()[i];
    REQUIRE((result == expected || (std::isnan(result) && std::isnan(expected))));
    if (y == 0 || !(std::abs(x / y) < T(0x1p20))) continue;
    const auto exact = static_cast<long double>(x) / static_cast<long double>(y);
    REQUIRE(quotient.data<T>()[i] == static_cast<T>(std::floor(exact)));
  }
}

TEST_CASE("floating-point remainders are exact, however far apart the operands are") {
  for_each_instruction_set([] {
    check_division_like_python<float>();
    check_division_like_python<double>();
  });
}

TEST_CASE("maximum and minimum hand on NaN from either side") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
      const Tensor a = tensor_of({kNan, 1, kNan, -kInfinity}, {4}, dtype);
      const Tensor b = tensor_of({1, kNan, kNan, kInfinity}, {4}, dtype);
      check_close(run1("maximum", {a, b}, type_of(a)), {kNan, kNan, kNan, kInfinity}, 0);
      check_close(run1("minimum", {a, b}, type_of(a)), {kNan, kNan, kNan, -kInfinity}, 0);
    }
  });
}

TEST_CASE("power has the special values of <cmath>") {
  const std::vector<double> values = {0, -0.0, 1, -1, 2, -2, 0.5, -3, kInfinity, -kInfinity, kNan};
  std::vector<double> bases, exponents, expected;
  for (const double base : values) {
    for (const double exponent : values) {
      bases.push_back(base);
      exponents.push_back(exponent);
      expected.push_back(std::pow(base, exponent));
    }
  }
  const Shape shape{static_cast<int64_t>(bases.size())};
  for_each_instruction_set([&] {
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      const Tensor a = tensor_of(bases, shape, dtype);
      check_close(run1("power", {a, tensor_of(exponents, shape, dtype)}, type_of(a)), expected,
                  1e-7);
    }
  });
}

TEST_CASE("powers by one small number for all") {
  for_each_instruction_set([&] {
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      std::vector<double> bases = {0, -0.0, kInfinity, -kInfinity, kNan};
      for (int i = 0; i < 40; ++i) bases.push_back(0.37 * i - 7);
      const Tensor a = tensor_of(bases, {static_cast<int64_t>(bases.size())}, dtype);
      for (const double exponent : {-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0}) {
        std::vector<double> expected;
        for (const double base : values_of(a)) expected.push_back(std::pow(base, exponent));
        const Tensor b = tensor_of({exponent}, {}, dtype);
        check_close(run1("power", {a, b}, type_of(a)), expected, 3e-7);
      }
    }
  });
}

TEST_CASE("the inverse error function of float32 is rounded once, up to its ends") {
  std::vector<double> values = {-0.0, 1e-40, 1e-20, -3e-5};
  for (int i = 1; i <= 2000; ++i) values.push_back(1 - 0x1p-24 * i * i);
  const Tensor x = tensor_of(values, {static_cast<int64_t>(values.size())}, DType::Float32);
  for_each_instruction_set([&] {
    const std::vector<double> found = values_of(run1("erf_inv", {x}, type_of(x)));
    const std::vector<double> rounded = values_of(x);
    CHECK(std::signbit(found[0]));
    for (size_t i = 0; i < found.size(); ++i) {
      const double size = std::abs(rounded[i]);
      const double expected = std::copysign(reference_erf_inv(size), rounded[i]);
      const float next = std::nextafter(static_cast<float>(std::abs(expected)), 100.0f);
      const double ulp = next - static_cast<double>(static_cast<float>(std::abs(expected)));
      CHECK(std::abs(found[i] - expected) <= 0.55 * ulp);
    }
  });
}

// ---- to and from bool ----

TEST_CASE("comparisons of every dtype") {
  const char* const kOps[] = {"equal",      "not_equal", "less",
                              "less_equal", "greater",   "greater_equal"};
  for_each_instruction_set([&] {
    for (int d = 0; d < kNumDTypes; ++d) {
      const auto dtype = static_cast<DType>(d);
      CAPTURE(dtype);
      std::vector<double> x, y;
      for (int i = 0; i < 301; ++i) {
        x.push_back(is_floating(dtype) && i % 11 == 0 ? kNan
                                                      : i % 3 % (dtype == DType::Bool ? 2 : 3));
        y.push_back(i % 5 % (dtype == DType::Bool ? 2 : 3));
      }
      const Tensor a = tensor_of(x, {301}, dtype);
      const Tensor b = tensor_of(y, {301}, dtype);
      for (const std::string op : kOps) {
        std::vector<double> expected;
        for (size_t i = 0; i < x.size(); ++i) {
          const bool results[] = {x[i] == y[i], x[i] != y[i], x[i]<y[i], x[i] <= y[i], x[i]> y[i],
                                  x[i] >= y[i]};
          expected.push_back(results[std::find(kOps, kOps + 6, op) - kOps]);
        }
        check_close(run1(op, {a, b}, {DType::Bool, {301}}), expected, 0);
      }
    }
  });
}

TEST_CASE("logic and classification") {
  const Tensor a = tensor_of({0, 0, 1, 1}, {4}, DType::Bool);
  const Tensor b = tensor_of({0, 1, 0, 1}, {4}, DType::Bool);
  const TensorType type = type_of(a);
  check_close(run1("logical_and", {a, b}, type), {0, 0, 0, 1}, 0);
  check_close(run1("logical_or", {a, b}, type), {0, 1, 1, 1}, 0);
  check_close(run1("logical_xor", {a, b}, type), {0, 1, 1, 0}, 0);
  check_close(run1("logical_not", {a}, type), {1, 1, 0, 0}, 0);
  check_close(run1("maximum", {a, b}, type), {0, 1, 1, 1}, 0);
  for_each_instruction_set([&] {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16}) {
      const Tensor x = tensor_of({kNan, kInfinity, -kInfinity, 1}, {4}, dtype);
      check_close(run1("is_nan", {x}, type), {1, 0, 0, 0}, 0);
      check_close(run1("is_inf", {x}, type), {0, 1, 1, 0}, 0);
      check_close(run1("is_finite", {x}, type), {0, 0, 0, 1}, 0);
    }
  });
  const Tensor integers = Tensor::from(std::vector<int32_t>{1, 2, 3, 4});
  check_close(run1("is_finite", {integers}, type), {1, 1, 1, 1}, 0);
}

TEST_CASE("logic of many bools, and of one with many") {
  const Tensor a = random_tensor({301}, DType::Bool, 1);
  const Tensor b = random_tensor({301}, DType::Bool, 2);
  const Tensor one = Tensor::scalar(true);
  const TensorType type = type_of(a);
  const auto expect = [&](const std::string& op, const std::vector<Tensor>& in, auto expected) {
    CAPTURE(op);
    const Tensor out = run1(op, in, type);
    for (size_t i = 0; i < 301; ++i) {
      REQUIRE(out.data<bool>()[i] == expected(a.data<bool>()[i], b.data<bool>()[i]));
    }
  };
  for_each_instruction_set([&] {
    expect("logical_not", {a}, [](bool x, bool) { return !x; });
    expect("logical_and", {a, b}, [](bool x, bool y) { return x && y; });
    expect("logical_or", {a, b}, [](bool x, bool y) { return x || y; });
    expect("logical_xor", {a, b}, [](bool x, bool y) { return x != y; });
    expect("logical_xor", {a, one}, [](bool x, bool) { return !x; });
    expect("logical_xor", {one, b}, [](bool, bool y) { return !y; });
    expect("greater", {one, b}, [](bool, bool y) { return !y; });
  });
}

TEST_CASE("select of every dtype") {
  for_each_instruction_set([] {
    const Tensor condition = random_tensor({97}, DType::Bool, 1);
    for (int d = 0; d < kNumDTypes; ++d) {
      const Tensor a = random_tensor({97}, static_cast<DType>(d), 2);
      const Tensor b = random_tensor({97}, static_cast<DType>(d), 3);
      std::vector<double> expected;
      for (size_t i = 0; i < 97; ++i) {
        expected.push_back(condition.data<bool>()[i] ? values_of(a)[i] : values_of(b)[i]);
      }
      check_close(run1("select", {condition, a, b}, type_of(a)), expected, 0);
    }
  });
}

// ---- cast ----

TEST_CASE("arithmetic of 16-bit numbers is rounded once") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    const Tensor a = random_tensor({333}, dtype, 1);
    const Tensor b = random_tensor({333}, dtype, 2);
    std::vector<double> sum;
    for (size_t i = 0; i < 333; ++i) sum.push_back(values_of(a)[i] + values_of(b)[i]);
    const Tensor expected = tensor_of(sum, {333}, dtype);
    check_close(run1("add", {a, b}, type_of(a)), values_of(expected), 0);
  }
}

}  // namespace
}  // namespace cornu::cpu::testing
