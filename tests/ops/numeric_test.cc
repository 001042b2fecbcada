// SPDX-License-Identifier: Apache-2.0
// Functions that are composed of other ops: tests/golden compares their values with Keras's, so
// this file tests gradients, compilation and errors.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/dispatch.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Checks f eagerly, compiled, and its gradients.
void check_smooth(const OpFunction& f, const Inputs& inputs, const GradientCheck& check = {}) {
  check_compiled(f, inputs, 1e-10);
  check_gradients(f, inputs, check);
}

void check_smooth(Tensor (*f)(const Tensor&), double low, double high) {
  check_smooth([f](const Inputs& in) { return f(in[0]); }, {random_tensor({3, 5}, low, high)});
}

void check_smooth(Tensor (*f)(const Tensor&, const Tensor&), double low, double high) {
  const Tensor a = random_tensor({3, 5}, low, high);
  const Tensor b = random_tensor({5}, low, high, 2);
  check_smooth([f](const Inputs& in) { return f(in[0], in[1]); }, {a, b});
}

TEST_CASE("gradients of elementwise functions") {
  check_smooth(ops::fabs, 0.5, 2);
  check_smooth(ops::exp2, -2, 2);
  check_smooth(ops::cbrt, 0.5, 2);
  check_smooth(ops::cbrt, -2, -0.5);
  check_smooth(ops::deg2rad, -90, 90);
  check_smooth(ops::rad2deg, -1, 1);
  check_smooth(ops::arcsinh, -3, 3);
  check_smooth(ops::arccosh, 1.5, 4);
  check_smooth(ops::arctanh, -0.8, 0.8);
  check_smooth(ops::erfc, -2, 2);
  check_smooth(ops::sinc, 0.1, 2);
  check_smooth(ops::hypot, 0.5, 2);
  check_smooth(ops::logaddexp2, -2, 2);
  check_smooth(ops::fmax, -2, 2);
  check_smooth(ops::fmin, -2, 2);
  check_smooth(ops::swish, -2, 2);
  check_smooth([](const Inputs& in) { return ops::fmod(in[0], Tensor::scalar(0.7)); },
               {Tensor::from(std::vector<double>{1.0, -1.0, 0.3, 5.2})});
}

TEST_CASE("a hypotenuse of nothing has no slope") {
  const Tensor x = Tensor::from(std::vector<double>{0, 3, -4});
  const Tensor y = Tensor::from(std::vector<double>{0, 4, 0});
  GradientTape tape;
  tape.watch(x);
  tape.watch(y);
  const Tensor length = ops::hypot(x, y);
  check_values(length, {3}, {0, 5, 4});
  const std::vector<Tensor> gradients = tape.gradient(length, std::vector<Tensor>{x, y});
  check_values(gradients[0], {3}, {0, 0.6, -1}, 1e-12);
  check_values(gradients[1], {3}, {0, 0.8, 0}, 1e-12);
}

TEST_CASE("norms, and sums without NaN, of large arrays") {
  const Tensor given = random_tensor({700, 900}, -2, 2);
  const Tensor x = ops::cast(ops::where(given > 1.5, kNan, given), DType::Float32);
  const Tensor counted = ops::logical_not(ops::isnan(x));
  const Tensor numbers = ops::where(counted, ops::cast(x, DType::Float64), 0);
  const Tensor plain = ops::cast(given, DType::Float32);
  const Tensor squares = ops::square(ops::cast(plain, DType::Float64));
  for (const std::optional<int64_t> axis : {std::optional<int64_t>(), {0}, {1}}) {
    CAPTURE(axis.value_or(-1));
    const Axes axes = axis ? Axes(*axis) : Axes();
    const Tensor sums = ops::sum(numbers, axes);
    const Tensor counts = ops::sum(ops::cast(counted, DType::Float64), axes);
    const auto check = [](const Tensor& found, const Tensor& expected, double tolerance) {
      CHECK(found.dtype() == DType::Float32);
      check_same(ops::cast(found, DType::Float64), expected, tolerance);
    };
    check(ops::nansum(x, axes), sums, 1e-2);
    check(ops::nanmean(x, axes), sums / counts, 1e-5);
    const Tensor lengths = ops::sqrt(ops::sum(squares, axes));
    check(ops::norm(plain, {.axis = axes}), lengths, 1e-2);
    // The gradient is the direction.
    GradientTape tape;
    tape.watch(plain);
    const Tensor found = tape.gradient(ops::sum(ops::norm(plain, {.axis = axes})), plain);
    const Tensor kept = axis ? ops::expand_dims(lengths, *axis) : lengths;
    check(found, ops::cast(plain, DType::Float64) / kept, 1e-6);
  }
  check_values(ops::nansum(Tensor({kNan, kNan})), {}, {0});
  check_values(ops::nanmean(Tensor({kNan, kNan})), {}, {kNan});
}

TEST_CASE("integrals of one sample, of infinities, and over points of their own") {
  check_values(ops::trapezoid(Tensor({kNan})), {}, {0});
  check_values(ops::trapezoid(Tensor::from<double>({1, kInfinity}, {2, 1})), {2}, {0, 0});
  const Tensor y = Tensor::from<double>({1, 2, 4, kInfinity, 1, 2}, {2, 3});
  check_values(ops::trapezoid(y), {2}, {4.5, kInfinity});
  check_values(ops::trapezoid(y, {.dx = 2.0}), {2}, {9, kInfinity});
  check_values(ops::trapezoid(y, {.x = Tensor({0.0, 1.0, 3.0})}), {2}, {7.5, kInfinity});
  const Tensor points = Tensor::from<double>({0, 1, 3, 0, 2, 3}, {2, 3});
  check_values(ops::trapezoid(y, {.x = points}), {2}, {7.5, kInfinity});
  check_values(ops::trapezoid(Tensor::from<int32_t>({1, 2, 4}), {.dx = 0.5}), {}, {2.25});
  check_values(ops::trapezoid(Tensor::from<double>({1, 5, 2, 6}, {2, 2}), {.axis = 0}), {2},
               {1.5, 5.5});
}

TEST_CASE("a grid has the vectors along its axes") {
  const Tensor a({1.0, 2.0, 3.0}), b({4.0, 5.0}), c({6.0, 7.0, 8.0, 9.0});
  for (const std::string indexing : {"ij", "xy"}) {
    CAPTURE(indexing);
    const bool swaps = indexing == "xy";
    const Shape shape = swaps ? Shape{2, 3, 4} : Shape{3, 2, 4};
    const std::vector<Tensor> grids = ops::meshgrid({a, b, c}, indexing);
    const std::vector<Shape> apart = {swaps ? Shape{1, 3, 1} : Shape{3, 1, 1},
                                      swaps ? Shape{2, 1, 1} : Shape{1, 2, 1}, Shape{1, 1, 4}};
    REQUIRE(grids.size() == 3);
    for (size_t i = 0; i < 3; ++i) {
      check_same(grids[i],
                 ops::broadcast_to(ops::reshape(std::vector{a, b, c}[i], apart[i]), shape));
    }
    check_same(ops::meshgrid({a}, indexing)[0], a);
  }
}

TEST_CASE("at and beyond what floats can hold") {
  const Tensor x = Tensor::from(std::vector<float>{1e30F, -1e30F, 0, -0.0F});
  check_values(ops::arcsinh(x), {4}, {69.7706948, -69.7706948, 0, 0}, 1e-6);
  check_values(ops::hypot(x, 0), {4}, {1e30, 1e30, 0, 0}, 1e-6);
  check_values(ops::hypot(Tensor::scalar(kInfinity), kNan), {}, {kInfinity});
  check_values(ops::hypot(Tensor({kNan, kNan, -0.0}), Tensor({1.0, -kInfinity, 0.0})), {3},
               {kNan, kInfinity, 0});
  check_values(ops::erfc(Tensor::scalar(20.0)), {}, {5.395865611607901e-176}, 1e-12);
  check_values(ops::arccosh(Tensor::scalar(0.5)), {}, {kNan});
  check_values(ops::signbit(x), {4}, {0, 1, 0, 1});
  check_values(ops::heaviside(Tensor::scalar(kNan), 0.5), {}, {kNan});
  check_values(ops::isclose(Tensor::scalar(kInfinity), Tensor::scalar(kInfinity)), {}, {1});
  check_values(ops::isclose(Tensor::scalar(1.0), Tensor::scalar(kInfinity)), {}, {0});
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    CAPTURE(dtype);
    const Tensor largest = ops::nan_to_num(ops::cast(Tensor::scalar(kInfinity), dtype));
    CHECK(largest.dtype() == dtype);
    CHECK(std::isfinite(largest.item<double>()));
    CHECK(std::isinf((largest * 2).item<double>()));
  }
  check_values(ops::saturate_cast(Tensor::scalar(1e30), DType::Float16), {}, {65504});
  check_values(ops::saturate_cast(Tensor::scalar(1e30), DType::Int64), {}, {9223372036854775807.0});
}

TEST_CASE("bits: bools are logical, other dtypes are refused") {
  const Tensor flags = Tensor::from({true, false, true}, {3});
  const Tensor others = Tensor::from({true, true, false}, {3});
  check_same(ops::bitwise_and(flags, others), Tensor::from({true, false, false}, {3}));
  check_same(ops::bitwise_or(flags, others), Tensor::from({true, true, true}, {3}));
  check_same(ops::bitwise_xor(flags, others), Tensor::from({false, true, true}, {3}));
  check_same(ops::bitwise_not(flags), Tensor::from({false, true, false}, {3}));
  const Tensor bytes = Tensor::from(std::vector<uint8_t>{1, 200});
  check_same(ops::bitwise_not(bytes), Tensor::from(std::vector<uint8_t>{254, 55}));
  check_compiled(
      [](const Inputs& in) { return ops::bitwise_xor(ops::left_shift(in[0], 2), in[0]); },
      {random_ints({3, 4}, 0, 100)});
  CHECK(message_of<InvalidArgument>([] { ops::bitwise_and(ops::ones({2}), ops::ones({2})); }) ==
        "bitwise_and: expected integers, got float32 of shape (2,). Cast it first, for example "
        "with ops::cast(x, DType::Int32).");
  CHECK(message_of<InvalidArgument>([] { ops::bitwise_not(ops::ones({2})); }) ==
        "bitwise_not: expected integers, got float32 of shape (2,). Cast it first, for example "
        "with ops::cast(x, DType::Int32).");
}

TEST_CASE("gradients of rearrangements and sums along axes") {
  const Tensor x = random_tensor({3, 4});
  const Tensor cube = random_tensor({2, 3, 4}, -2, 2, 3);
  const OpFunction functions[] = {
      [](const Inputs& in) { return ops::diagonal(in[0], {.offset = 1, .axis1 = -1, .axis2 = 0}); },
      [](const Inputs& in) { return ops::trace(in[0]); },
      [](const Inputs& in) { return ops::tril(in[0], 1); },
      [](const Inputs& in) { return ops::triu(in[0]); },
      [](const Inputs& in) { return ops::diagflat(in[0], -2); },
      [](const Inputs& in) {
        return ops::roll(in[0], {1, -1}, {0, 1});
      },
      [](const Inputs& in) { return ops::rot90(in[0], 3); },
      [](const Inputs& in) { return ops::kron(in[0], in[0]); },
      [](const Inputs& in) { return ops::inner(in[0], in[0]); },
      [](const Inputs& in) { return ops::average(in[0], 0, ops::exp(in[0])); },
      [](const Inputs& in) { return ops::quantile(in[0], 0.3, {.axis = 1}); },
      [](const Inputs& in) { return ops::cumprod(in[0], 1); },
      [](const Inputs& in) { return ops::diff(in[0], 2); },
      [](const Inputs& in) { return ops::trapezoid(in[0] * in[0]); },
      [](const Inputs& in) { return ops::nanvar(ops::where(in[0] > 1.5, kNan, in[0]), 1); },
      [](const Inputs& in) { return ops::linspace(in[0], 2.0, 3, {.axis = 1}); },
  };
  for (size_t i = 0; i < std::size(functions); ++i) {
    CAPTURE(i);
    check_smooth(functions[i], {x});
  }
  check_smooth([](const Inputs& in) { return ops::cross(in[0], in[1], {.axis = 1}); },
               {cube, random_tensor({2, 3, 4}, -2, 2, 4)});
  check_smooth([](const Inputs& in) { return ops::corrcoef(in[0]); }, {x});
  check_smooth([](const Inputs& in) { return ops::depth_to_space(in[0], 2); },
               {random_tensor({1, 2, 3, 8})});
}

TEST_CASE("running products of any length, along any axis") {
  for (const int64_t size : {0, 1, 2, 15, 16, 17, 18, 33, 100}) {
    CAPTURE(size);
    const Tensor x = random_tensor({2, size, 3}, 0.5, 1.5, 6);
    std::vector<double> expected = to_doubles(x);
    const auto length = static_cast<size_t>(size);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (i / 3 % length > 0) expected[i] *= expected[i - 3];
    }
    check_values(ops::cumprod(x, 1), x.shape(), expected);
    check_values(ops::transpose(ops::cumprod(ops::transpose(x, {1, 0, 2}), 0), {1, 0, 2}),
                 x.shape(), expected);
  }
  const Tensor with_zero = Tensor::from(std::vector<int64_t>(20, 2), {20});
  const Tensor powers = ops::cumprod(ops::where(ops::arange(20) == 18, 0, with_zero));
  CHECK(powers.dtype() == DType::Int64);
  CHECK(powers.rows(16, 20).to_vector<int64_t>() == std::vector<int64_t>{1 << 17, 1 << 18, 0, 0});
  check_smooth([](const Inputs& in) { return ops::cumprod(in[0], 0); },
               {random_tensor({19, 2}, 0.5, 1.5, 7)});
}

TEST_CASE("running products: zeros, infinities and NaN, their gradient of any order") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  {
    // On the CPU as NumPy's: one after the other, in the elements' own dtype. Elsewhere they are
    // joined in pairs.
    const DeviceScope host("CPU:0");
    const Tensor x = Tensor::from(std::vector<float>{1e30f, 1e30f, 1e-30f, -1, 0, 2});
    const std::vector<float> products = ops::cumprod(x, 0).to_vector<float>();
    CHECK(products[1] == kInfinity);
    CHECK(products[3] == -kInfinity);
    CHECK(std::isnan(products[4]));
    CHECK(std::isnan(products[5]));
  }
  const Tensor zeros = Tensor::from(std::vector<double>{2, 0, 3, 0, 5, 1, 7}, {7});
  check_smooth([](const Inputs& in) { return ops::cumprod(in[0], 0); }, {zeros});
  check_smooth([](const Inputs& in) { return ops::cumprod(in[0], 1); },
               {random_tensor({2, 33}, 0.7, 1.4, 8)});
  check_smooth([](const Inputs& in) { return ops::cumprod(in[0], 0); },
               {random_tensor({38, 2}, 0.7, 1.4, 8)});
  check_smooth([](const Inputs& in) { return ops::cumprod(in[0], -1); },
               {random_tensor({3, 1}, 0.5, 1.5, 9)});
}

// Such ops are compiled once they have been called a few times.
TEST_CASE("functions of numbers have the same bits however often they are called") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    const Tensor x = ops::cast(Tensor::from(std::vector<double>{-kInfinity, -2.5, -1, -0.0, 0, 0.25,
                                                                7.75, 1e30, kInfinity, kNan}),
                               dtype);
    const Tensor y = ops::cast(Tensor::from<int>({3, -2, 3, 4, 5, -1, 2, 7, 2, 1}), dtype);
    using Function = Tensor (*)(const Tensor&, const Tensor&);
    const Function functions[] = {
        [](const Tensor& a, const Tensor&) { return ops::trunc(a); },
        [](const Tensor& a, const Tensor&) { return ops::cast(ops::signbit(a), DType::UInt8); },
        [](const Tensor& a, const Tensor&) { return ops::nan_to_num(a); },
        [](const Tensor& a, const Tensor&) {
          return ops::nan_to_num(a, {.nan = 3, .posinf = 4, .neginf = -5});
        },
        [](const Tensor& a, const Tensor& b) { return ops::ldexp(a, b); },
        [](const Tensor& a, const Tensor& b) { return ops::fmod(a, b); }};
    for (const Function function : functions) {
      const Tensor first = function(x, y).host();
      for (int call = 0; call < 4; ++call) {
        const Tensor again = function(x, y).host();
        CHECK(std::memcmp(first.raw(), again.raw(), first.bytes()) == 0);
      }
    }
    CHECK(ops::cast(ops::signbit(x), DType::Int32).to_vector<int>() ==
          std::vector<int>{1, 1, 1, 1, 0, 0, 0, 0, 0, 0});
  }
}

TEST_CASE("distances by any number of features, in batches, again and again") {
  for (const int64_t features : {0, 1, 3, 16, 17, 40}) {
    CAPTURE(features);
    const Tensor a = random_tensor({2, 5, features}, -2, 2, 8);
    const Tensor b = random_tensor({7, features}, -2, 2, 9);
    const std::vector<double> x = to_doubles(a), y = to_doubles(b);
    const auto size = static_cast<size_t>(features);
    std::vector<double> expected;
    for (size_t i = 0; i < 10; ++i) {
      for (size_t j = 0; j < 7; ++j) {
        double sum = 0;
        for (size_t k = 0; k < size; ++k) sum += std::pow(x[i * size + k] - y[j * size + k], 2);
        expected.push_back(std::sqrt(sum));
      }
    }
    for (int call = 0; call < 4; ++call) check_values(ops::cdist(a, b), {2, 5, 7}, expected);
    if (features > 0) {
      check_smooth([](const Inputs& in) { return ops::cdist(in[0], in[1]); },
                   {a, random_tensor({7, features}, 3, 4, 9)});
    }
  }
  check_values(ops::cdist(ops::ones({0, 3}), ops::ones({2, 3})), {0, 2}, {});
  CHECK(ops::cdist(ops::ones({2, 3}, DType::Float16), ops::ones({2, 3}, DType::Int32)).dtype() ==
        DType::Float16);
  check_values(ops::cdist(Tensor::from<int>({1, 2}, {1, 2}), Tensor::from<int>({4, 6}, {1, 2})),
               {1, 1}, {5});
}

TEST_CASE("bins of every kind of integers") {
  for (const DType dtype : {DType::UInt8, DType::Int8, DType::Int32, DType::Int64, DType::UInt32,
                            DType::UInt64, DType::Bool}) {
    CAPTURE(dtype);
    check_values(ops::bincount(ops::cast(Tensor::from<int>({1, 0, 1}, {3}), dtype)), {2}, {1, 2});
    check_values(ops::bincount(ops::cast(Tensor::from<int>({}, {0}), dtype), {}, 2), {2}, {0, 0});
  }
  check_values(
      ops::bincount(Tensor::from<int>({1, 3}, {2}), Tensor::from(std::vector<float>{0.5, 2})), {4},
      {0, 0.5, 0, 2});
  std::vector<int8_t> many(100'000);
  std::vector<double> counts(101);
  for (size_t i = 0; i < many.size(); ++i) {
    many[i] = static_cast<int8_t>(i * i % 101);
    ++counts[i * i % 101];
  }
  check_values(ops::bincount(Tensor::from(many), {}, 101), {101}, counts);
}

TEST_CASE("empty and odd sizes") {
  const Tensor none = ops::zeros({0, 3});
  check_values(ops::diagonal(none), {0}, {});
  check_values(ops::tril(none), {0, 3}, {});
  check_values(ops::cumprod(none, 0), {0, 3}, {});
  check_values(ops::diff(ops::ones({1})), {0}, {});
  check_values(ops::diff(ops::ones({2}), 5), {0}, {});
  check_values(ops::linspace(0.0, 1.0, 0), {0}, {});
  check_values(ops::linspace(2.0, 9.0, 1), {1}, {2});
  check_values(ops::diagonal(ops::ones({2, 2}), {.offset = -7}), {0}, {});
  check_values(ops::diag(ops::zeros({0}), 1), {1, 1}, {0});
  check_values(ops::diag(ops::zeros({0}), -2), {2, 2}, {0, 0, 0, 0});
  check_values(ops::diag(Tensor::from<int>({1, 2}, {2}), 1), {3, 3}, {0, 1, 0, 0, 0, 2, 0, 0, 0});
  check_values(ops::diag(Tensor::from<int>({1, 2}, {2}), -1), {3, 3}, {0, 0, 0, 1, 0, 0, 0, 2, 0});
  check_values(ops::diag(ops::ones({1}, DType::Bool)), {1, 1}, {1});
  check_values(ops::roll(none, 2), {0, 3}, {});
  check_values(ops::roll(Tensor({1, 2, 3, 4}), {1, -3}, {0}), {4}, {3, 4, 1, 2});
  check_values(ops::roll(Tensor({1, 2}), 1, std::vector<int64_t>()), {2}, {1, 2});
  check_values(ops::searchsorted(ops::zeros({0}), ops::ones({2})), {2}, {0, 0});
  check_values(ops::bincount(ops::zeros({0}, DType::Int32), {}, 2), {2}, {0, 0});
  check_values(ops::tri(0), {0, 0}, {});
  check_values(ops::hanning(1), {1}, {1});
  check_values(ops::vander(ops::zeros({0})), {0, 0}, {});
  const std::vector<Tensor> split = ops::array_split(ops::ones({2}), 3);
  CHECK(split.size() == 3);
  CHECK(split[2].shape() == Shape{0});
}

TEST_CASE("quantiles beside infinities") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor high = Tensor::from<double>({1, inf, inf});
  check_values(ops::median(high), {}, {inf});
  check_values(ops::quantile(high, Tensor::from<double>({0, 0.25, 0.75, 1})), {4},
               {1, inf, inf, inf});
  check_values(ops::quantile(Tensor::from<float>({-INFINITY, 1, 2}), Tensor::from<float>({0, 0.5})),
               {2}, {-inf, 1});
  check_values(ops::median(Tensor::from<double>({-inf, inf})), {}, {NAN});
  // Interpolated elements share the gradient like others.
  check_gradients(
      [](const Inputs& in) {
        return ops::quantile(in[0], Tensor::from<double>({.5, .3}));
      },
      {Tensor::from<double>({2, 1, 4, 7})});
}

TEST_CASE("fmod is exact") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor a = Tensor::from<double>({-.1, 1e-3, -5, 5, 7, -7, 1e300, 2, inf, NAN});
  const Tensor b = Tensor::from<double>({1e6, -1e6, inf, -inf, -3, 3, 7e-5, 0, 2, 1});
  std::vector<double> expected;
  for (size_t i = 0; i < a.data<double>().size(); ++i) {
    expected.push_back(std::fmod(a.data<double>()[i], b.data<double>()[i]));
  }
  check_values(ops::fmod(a, b), {10}, expected, 0);
  check_values(ops::fmod(ops::cast(a, DType::Float32), 1e6F)[0], {}, {-.1F}, 0);
  check_values(ops::fmod(Tensor::from<int32_t>({7, -7, 6}), Tensor::from<int32_t>({-3, 3, 3})), {3},
               {1, -1, 0});
  check_gradients([](const Inputs& in) { return ops::fmod(in[0], in[1]); },
                  {Tensor::from<double>({-7.3, 8.1, 0}), Tensor::from<double>({2.2, -3.1, 5})},
                  {.second_order = false});
}

TEST_CASE("area functions of 16 bits, and below where they are defined") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    const Tensor x = ops::cast(Tensor::from<float>({-1e4F, 300, 0.5F, 6e4F}), dtype);
    const auto values = to_doubles(x);
    std::vector<double> sines;
    std::vector<double> cosines;
    for (const double value : values) {
      sines.push_back(std::asinh(value));
      cosines.push_back(std::acosh(value));
    }
    const double tolerance = dtype == DType::Float16 ? 1e-3 : 1e-2;
    check_values(check_compiled([](const Inputs& in) { return ops::arcsinh(in[0]); }, {x}, 0), {4},
                 sines, tolerance);
    check_values(check_compiled([](const Inputs& in) { return ops::arccosh(in[0]); }, {x}, 0), {4},
                 cosines, tolerance);
    CHECK(ops::arcsinh(x).dtype() == dtype);
  }
  check_values(ops::arccosh(Tensor::from<float>({-1e4F, -2, 1, 1e20F})), {4},
               {NAN, NAN, 0, std::acosh(1e20)}, 1e-6);
}

TEST_CASE("saturate_cast keeps every integer that fits") {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Tensor x = Tensor::from<int64_t>({kMax - 100, -kMax, -1, 300});
  check_same(ops::saturate_cast(x, DType::Int64), x);
  CHECK(ops::saturate_cast(x, DType::UInt64).to_vector<uint64_t>() ==
        std::vector<uint64_t>{kMax - 100, 0, 0, 300});
  CHECK(ops::saturate_cast(x, DType::UInt8).to_vector<uint8_t>() ==
        std::vector<uint8_t>{255, 0, 0, 255});
  const Tensor high = Tensor::from<uint64_t>({~uint64_t{0} - 100, 5});
  CHECK(ops::saturate_cast(high, DType::Int64).to_vector<int64_t>() ==
        std::vector<int64_t>{kMax, 5});
  check_same(ops::saturate_cast(high, DType::UInt64), high);
  CHECK(
      ops::saturate_cast(Tensor::from<float>({1e30F, -1e30F}), DType::Int64).to_vector<int64_t>() ==
      std::vector<int64_t>{kMax, -kMax - 1});
}

TEST_CASE("ldexp by powers that no float holds") {
  const Tensor x = Tensor::from<float>({0, 1e30F, 3, 1e-44F, 0, 1, -1});
  const Tensor by = Tensor::from<int32_t>({200, -160, 5, 250, 5000, 5000, -5000});
  std::vector<double> expected;
  for (size_t i = 0; i < x.data<float>().size(); ++i) {
    expected.push_back(std::ldexp(x.data<float>()[i], by.data<int32_t>()[i]));
  }
  check_values(ops::ldexp(x, by), {7}, expected, 1e-6);
  check_values(ops::ldexp(Tensor::scalar(1e300), -1900), {}, {std::ldexp(1e300, -1900)}, 0);
  CHECK(ops::ldexp(ops::ones({1}, DType::Float16), 3).dtype() == DType::Float16);
}

TEST_CASE("linspace of whole numbers, and of ends that are met exactly") {
  check_same(ops::linspace(1, 100, 100, {.dtype = DType::Int32}), ops::arange(1, 101));
  check_same(ops::linspace(100, 1, 100, {.dtype = DType::Int64}),
             ops::arange(100, 0, -1, DType::Int64));
  check_same(ops::linspace(5, 5, 50, {.endpoint = false, .dtype = DType::Int32}),
             ops::full({50}, 5, DType::Int32));
  check_same(ops::linspace(0, 10, 4, {.dtype = DType::Int32}),
             Tensor::from<int32_t>({0, 3, 6, 10}));
  for (const int64_t num : {2, 7, 50, 93}) {
    const Tensor points = ops::linspace(0.1F, 0.7F, num);
    CHECK(points[0].item<float>() == 0.1F);
    CHECK(points[-1].item<float>() == 0.7F);
  }
}

TEST_CASE("isclose of integers sees each of them") {
  const Tensor a = Tensor::scalar(1 << 30);
  CHECK(ops::isclose(a, a + 1, {.rtol = 0, .atol = 0}).item<int>() == 0);
  CHECK(ops::isclose(a, a + 1, {.rtol = 0, .atol = 1}).item<int>() == 1);
}

TEST_CASE("where Keras on TensorFlow isn't NumPy, as NumPy has it") {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  check_values(ops::rot90(x, 2), {2, 3}, {6, 5, 4, 3, 2, 1});
  check_values(ops::rot90(x, 1), {3, 2}, {3, 6, 2, 5, 1, 4});
  const Tensor row = Tensor::from(std::vector<float>{1, 2});
  check_values(ops::vstack({row, row}), {2, 2}, {1, 2, 1, 2});
}

TEST_CASE("values, and what their shapes are") {
  CHECK(ops::convert_to_tensor(2.5).dtype() == DType::Float32);
  CHECK(ops::convert_to_tensor(2, DType::Float64).dtype() == DType::Float64);
  CHECK(ops::array(ops::ones({2}), DType::Int32).dtype() == DType::Int32);
  CHECK(ops::shape(ops::ones({2, 3})) == Shape{2, 3});
  CHECK(ops::ndim(ops::ones({2, 3})) == 2);
  CHECK(!ops::is_tensor(Tensor()));
  check_values(ops::convert_to_numpy(ops::ones({2})), {2}, {1, 1});
}

TEST_CASE("mistakes say what was expected") {
  const Tensor x = ops::ones({3, 4});
  CHECK(message_of<InvalidArgument>([&] {
          ops::diag(ops::ones({1, 1, 1}));
        }) == "diag: expected a vector or a matrix, got shape (1, 1, 1).");
  CHECK(message_of<InvalidArgument>([&] { ops::tril(ops::ones({2})); }) ==
        "tril: expected matrices (at least 2 axes), got shape (2,).");
  CHECK(message_of<InvalidArgument>([&] { ops::quantile(x, 0.5, {.method = "linar"}); }) ==
        "quantile: unknown method 'linar'. Did you mean 'linear'? Known: linear, lower, higher, "
        "midpoint, nearest.");
  CHECK(message_of<InvalidArgument>([&] { ops::meshgrid({x}, "yx"); }) ==
        "meshgrid: expected indexing \"xy\" or \"ij\", got \"yx\".");
  CHECK(message_of<InvalidArgument>([&] { ops::average(x, 0, ops::ones({4})); }) ==
        "average: expected weights of x's shape (3, 4), or one for each place along a single axis, "
        "got shape (4,).");
  CHECK(message_of<InvalidArgument>([&] {
          ops::bincount(Tensor::from(std::vector<int32_t>{1, -2}));
        }) == "bincount: expected integers >= 0, got -2.");
  CHECK(message_of<InvalidArgument>([&] {
          ops::bincount(Tensor::from(std::vector<uint64_t>{1, ~uint64_t{0}}));
        }) ==
        "bincount: expected integers below 2^48, as there is a bin for each number from 0, got "
        "18446744073709551615.");
  CHECK(message_of<InvalidArgument>([&] { ops::searchsorted(x, x); }) ==
        "searchsorted: expected a sorted vector, got shape (3, 4). Use ops::vectorized_map for "
        "several.");
  CHECK(message_of<InvalidArgument>([&] {
          ops::roll(x, {1, 2, 3}, {0, 1});
        }) == "roll: expected one shift, or one for each of 2 axes, got 3.");
  CHECK(message_of<InvalidArgument>([&] { ops::cross(x, x); }) ==
        "cross: expected vectors of 2 or 3 along axis -1, got shapes (3, 4) and (3, 4).");
  CHECK(message_of<InvalidArgument>([&] { ops::linspace(0., 1., -1); }) ==
        "linspace: expected num >= 0, got -1.");
  CHECK(message_of<InvalidArgument>([&] {
          ops::depth_to_space(ops::ones({1, 2, 2, 3}), 2);
        }) ==
        "depth_to_space: expected channels that 4 (block_size squared) divides, got shape (1, 2, "
        "2, 3).");
}

}  // namespace
}  // namespace cornu::testing
