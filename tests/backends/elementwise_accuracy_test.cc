// SPDX-License-Identifier: Apache-2.0
// Elementary functions over all of their range, against the C library's in long double.
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

// How many units in the last place of `exact`, rounded to T, a result is off; the smallest normal
// number's where it is smaller.
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
  // Results are denormal before they are 0.
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
    // x 2 / sqrt(pi), and the other way round.
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

}  // namespace
}  // namespace cornu::cpu::testing
