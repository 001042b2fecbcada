// SPDX-License-Identifier: Apache-2.0
// Accuracy of elementary functions over their whole range, compared with the C library's in long
// double.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

using Real = long double;

const KernelRunner& kernels() {
  static const KernelRunner runner(register_elementwise_kernels);
  return runner;
}

template <class T>
std::vector<T> apply(const std::string& op, const std::vector<T>& x) {
  const Tensor in = Tensor::from(x);
  return kernels().run(op, {in}, {}, {type_of(in)})[0].template to_vector<T>();
}

// The error of a result in units in the last place of `exact` rounded to T, or of the smallest
// normal number if `exact` is smaller.
template <class T>
double units_off(T result, Real exact) {
  const T rounded = std::abs(static_cast<T>(exact));
  if (result == static_cast<T>(exact)) return 0;  // infinities, too
  const T size = std::max(rounded, std::numeric_limits<T>::min());
  const Real unit = Real{std::nextafter(size, std::numeric_limits<T>::infinity())} - Real{size};
  return static_cast<double>(std::abs(Real{result} - exact) / unit);
}

// `count` numbers whose logarithms are spread evenly from `low` to `high`, both above 0.
template <class T>
std::vector<T> by_size(double low, double high, int count) {
  std::vector<T> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(low * std::pow(high / low, i / (count - 1.0))));
  }
  return values;
}

template <class T>
std::vector<T> of_both_signs(std::vector<T> values) {
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  return values;
}

template <class T>
void check_unary(const std::string& op, Real (*reference)(Real), const std::vector<T>& x,
                 double ulps) {
  CAPTURE(op);
  CAPTURE(dtype_of<T>);
  const std::vector<T> found = apply(op, x);
  for (size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    REQUIRE(units_off(found[i], reference(Real{x[i]})) <= ulps);
  }
}

Real inverse_of_erf(Real y) {
  const Real size = std::abs(y);
  Real x = 0;
  // Newton's iteration from below, where the function is convex.
  for (int i = 0; i < 500; ++i) {
    const Real error = size < 0.5L ? std::erf(x) - size : (1 - size) - std::erfc(x);
    const Real change = error / (1.12837916709551257390L * std::exp(-x * x));
    x -= change;
    if (std::abs(change) < 1e-20L * x) break;
  }
  return std::copysign(x, y);
}

template <class T>
void check_error_functions() {
  constexpr bool kDouble = std::is_same_v<T, double>;
  const T smallest = std::numeric_limits<T>::denorm_min();
  const std::vector<T> sizes = of_both_signs(by_size<T>(kDouble ? 1e-300 : 1e-37, 30, 4001));
  check_unary<T>(
      "erf", [](Real x) { return std::erf(x); }, sizes, 2);
  check_unary<T>(
      "erfc", [](Real x) { return std::erfc(x); }, sizes, kDouble ? 4 : 1);
  // All of the range where erf isn't 1 yet, with the borders of its parts.
  std::vector<T> parts;
  for (int i = 0; i <= 64; ++i) {
    const T border = static_cast<T>(i * 0.125);
    for (const T x : {std::nextafter(border, T{-1}), border, std::nextafter(border, T{9})}) {
      parts.push_back(x);
    }
    for (int j = 1; j < 100; ++j) parts.push_back(static_cast<T>(border + j * 0.00125));
  }
  check_unary<T>(
      "erf", [](Real x) { return std::erf(x); }, of_both_signs(parts), 2);
  // Results are denormal before they become 0.
  std::vector<T> far;
  for (int i = 0; i < 4001; ++i) far.push_back(static_cast<T>((kDouble ? 26 : 9) + i * 0.0004));
  check_unary<T>(
      "erfc", [](Real x) { return std::erfc(x); }, far, kDouble ? 4 : 1);

  std::vector<T> inside = of_both_signs(by_size<T>(kDouble ? 1e-300 : 1e-37, 0.9, 2001));
  for (const T rest : by_size<T>(std::numeric_limits<T>::epsilon() / 2, 0.5, 2001)) {
    inside.push_back(1 - rest);
  }
  check_unary<T>("erf_inv", inverse_of_erf, inside, kDouble ? 3 : 0.55);

  const T infinity = std::numeric_limits<T>::infinity();
  const T largest = std::numeric_limits<T>::max();
  CHECK(apply<T>("erf", {infinity, -infinity, largest, -largest, 7, -7}) ==
        std::vector<T>{1, -1, 1, -1, 1, -1});
  CHECK(apply<T>("erfc", {infinity, -infinity, largest, -largest, 0, T{-0.0}, smallest, -7}) ==
        std::vector<T>{0, 2, 0, 2, 1, 1, 1, 2});
  CHECK(apply<T>("erf_inv", {1, -1, 0}) == std::vector<T>{infinity, -infinity, 0});
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const std::string op : {"erf", "erfc"}) CHECK(std::isnan(apply<T>(op, {nan})[0]));
  for (const T none : apply<T>("erf_inv", {nan, 2, -2, infinity, -infinity, T{1.00001}})) {
    CHECK(std::isnan(none));
  }
  for (const std::string op : {"erf", "erf_inv"}) {
    CAPTURE(op);
    CHECK(std::signbit(apply<T>(op, {T{-0.0}})[0]));
    // x * 2 / sqrt(pi) rounds to x here, and so does the inverse.
    const auto [a, b] = std::pair(apply<T>(op, {smallest})[0], apply<T>(op, {-smallest})[0]);
    CHECK((a == smallest && b == -smallest));
  }
}

TEST_CASE("the error function, its complement and its inverse, over all of their range") {
  for_each_instruction_set([] {
    check_error_functions<float>();
    check_error_functions<double>();
  });
}

// ---- two operands ----

template <class T>
std::vector<T> apply(const std::string& op, const std::vector<T>& x, const std::vector<T>& y) {
  const Tensor a = Tensor::from(x), b = Tensor::from(y);
  return kernels().run(op, {a, b}, {}, {type_of(a)})[0].template to_vector<T>();
}

// Magnitudes from 2^-bits to 2^bits; y has both signs, and so does x if `signs`.
template <class T>
void check_binary(const std::string& op, Real (*reference)(Real, Real), double x_bits,
                  double y_bits, bool signs) {
  CAPTURE(op);
  CAPTURE(dtype_of<T>);
  PhiloxEngine engine(11);
  auto draw = [&](double bits, bool both) {
    const double size = std::exp2(bits * (2 * engine.uniform() - 1));
    return static_cast<T>(both && engine.uniform() < 0.5 ? -size : size);
  };
  std::vector<T> x, y;
  for (int i = 0; i < 30'011; ++i) {
    x.push_back(draw(x_bits, signs));
    y.push_back(draw(y_bits, true));
  }
  const std::vector<T> found = apply<T>(op, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    CAPTURE(x[i]);
    CAPTURE(y[i]);
    REQUIRE(units_off(found[i], reference(Real{x[i]}, Real{y[i]})) <= 1.25);
  }
}

template <class T>
void check_power_and_angle() {
  const auto power = [](Real a, Real b) { return std::pow(a, b); };
  const auto angle = [](Real a, Real b) { return std::atan2(a, b); };
  const double widest = std::is_same_v<T, double> ? 1074 : 149;
  for (const double bits : {0.001, 1.0, 20.0, widest}) {
    check_binary<T>("power", power, bits, std::log2(900 / bits), false);
    check_binary<T>("atan2", angle, bits, bits, true);
  }
  check_binary<T>("atan2", angle, 1, widest, true);
}

TEST_CASE("powers and angles are accurate over all of their range") {
  for_each_instruction_set([] {
    check_power_and_angle<float>();
    check_power_and_angle<double>();
  });
}

// atan2 and power, for every pair of these numbers.
template <class T>
void check_special_pairs() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> sizes = {0, Limits::denorm_min(), Limits::min(),     T{0.5}, 1,
                          3, Limits::max(),        Limits::infinity()};
  std::vector<T> values = of_both_signs(sizes);
  values.push_back(Limits::quiet_NaN());
  std::vector<T> a, b;
  for (const T first : values) {
    for (const T second : values) {
      a.push_back(first);
      b.push_back(second);
    }
  }
  const std::vector<T> angle = apply<T>("atan2", a, b), power = apply<T>("power", a, b);
  auto same = [](T result, T expected) {
    if (std::isnan(expected)) return std::isnan(result);
    return std::signbit(result) == std::signbit(expected) && units_off(result, expected) <= 1.25;
  };
  for (size_t i = 0; i < a.size(); ++i) {
    CAPTURE(a[i]);
    CAPTURE(b[i]);
    REQUIRE(same(angle[i], std::atan2(a[i], b[i])));
    REQUIRE(same(power[i], std::pow(a[i], b[i])));
  }
}

TEST_CASE("powers and angles of zeros, denormal, largest and infinite numbers") {
  for_each_instruction_set([] {
    check_special_pairs<float>();
    check_special_pairs<double>();
  });
}

}  // namespace
}  // namespace cornu::cpu::testing
