// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

constexpr int64_t kCount = 40'000;

// Checks that mean and variance are within five standard errors of the distribution's; the error of
// the variance is bounded by the fourth moment, given as the kurtosis.
void check_moments(const Tensor& draws, double mean, double variance, double kurtosis) {
  const auto values = to_doubles(draws);
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  for (double value : values) sum += value;
  for (double value : values) squares += (value - sum / count) * (value - sum / count);
  CHECK(std::abs(sum / count - mean) < 5 * std::sqrt(variance / count));
  // The error of the mean counts too, for when the first-order error of the variance is 0 (a coin).
  const double allowed = 5 * variance * std::sqrt((kurtosis - 1) / count) + 25 * variance / count;
  CHECK(std::abs(squares / count - variance) < allowed);
}

TEST_CASE("gamma: moments for shapes on both sides of 1") {
  for (const double alpha : {0.1, 0.7, 1.0, 2.5, 40.0, 1e5}) {
    CAPTURE(alpha);
    check_moments(random::gamma({kCount}, alpha, {.dtype = DType::Float64, .seed = 3}), alpha,
                  alpha, 3 + 6 / alpha);
  }
  const Tensor rows = Tensor::from(std::vector<float>{1, 50}, {2, 1});
  const auto means = to_doubles(ops::mean(random::gamma({2, 1000}, rows, {.seed = 1}), 1));
  CHECK(means[0] == doctest::Approx(1).epsilon(0.2));
  CHECK(means[1] == doctest::Approx(50).epsilon(0.05));
}

TEST_CASE("binomial: moments by both methods, ends and bounds") {
  const std::pair<double, double> cases[] = {{5, 0.3},   {12, 0.9},   {100, 0.02}, {100, 0.5},
                                             {40, 0.75}, {1e6, 0.25}, {1, 0.5}};
  for (const auto& item : cases) {
    const double n = item.first;
    const double p = item.second;
    CAPTURE(n);
    CAPTURE(p);
    const Tensor draws = random::binomial({kCount}, n, p, {.dtype = DType::Float64, .seed = 3});
    const double variance = n * p * (1 - p);
    check_moments(draws, n * p, variance, 3 + (1 - 6 * p * (1 - p)) / variance);
    CHECK(ops::min(draws).item<double>() >= 0);
    CHECK(ops::max(draws).item<double>() <= n);
    check_same(ops::floor(draws), draws);
  }
  check_values(random::binomial({3}, 7, Tensor::from(std::vector<float>{0, 1, 0}), {.seed = 1}),
               {3}, {0, 7, 0});
}

TEST_CASE("beta: moments, small parameters too") {
  for (const auto& item : {std::pair{2.0, 5.0}, std::pair{0.5, 0.5}, std::pair{30.0, 1.0}}) {
    const double a = item.first;
    const double b = item.second;
    CAPTURE(a);
    CAPTURE(b);
    const Tensor draws = random::beta({kCount}, a, b, {.seed = 5});
    const double total = a + b;
    const double variance = a * b / (total * total * (total + 1));
    const double excess = 6 * ((a - b) * (a - b) * (total + 1) - a * b * (total + 2)) /
                          (a * b * (total + 2) * (total + 3));
    check_moments(draws, a / total, variance, 3 + excess);
    CHECK(ops::min(draws).item<double>() >= 0);
    CHECK(ops::max(draws).item<double>() <= 1);
  }
  CHECK(ops::all(ops::isfinite(random::beta({kCount}, 0.02, 0.03, {.seed = 5}))).item<int>() == 1);
  // Almost a coin that lands on 0 or 1.
  const Tensor tiny = random::beta({kCount}, 1e-3, 3e-3, {.seed = 5});
  CHECK(ops::count_nonzero(ops::isnan(tiny)).item<int>() == 0);
  CHECK(ops::mean(tiny).item<double>() == doctest::Approx(0.25).epsilon(0.05));
}

TEST_CASE("draws are the same bits for a seed: eagerly, compiled, whatever is drawn beside") {
  auto draw = [](int64_t count) {
    return ops::stack({random::gamma({count}, 0.7, {.seed = 11}),
                       random::binomial({count}, 30, 0.4, {.seed = 12}),
                       random::beta({count}, 2, 3, {.seed = 13})});
  };
  check_same(draw(1003), draw(1003));
  check_compiled([&](const std::vector<Tensor>& x) { return draw(1003) + x[0]; },
                 {Tensor::scalar(0.0F)}, 0);
  // Element i is a function of (key, i): the first elements of gamma don't depend on the number of
  // elements.
  check_same(ops::slice_axis(random::gamma({50}, 0.7, {.seed = 11}), 0, 0, 7),
             random::gamma({7}, 0.7, {.seed = 11}));
  CHECK(to_doubles(random::gamma({1}, 1, {.seed = 1})) !=
        to_doubles(random::gamma({1}, 1, {.seed = 2})));
  set_random_seed(4);
  const Tensor first = random::gamma({5}, 1);
  const Tensor second = random::gamma({5}, 1);
  CHECK(to_doubles(first) != to_doubles(second));
  set_random_seed(4);
  check_same(random::gamma({5}, 1), first);
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    CHECK(random::gamma({5}, 1, {.dtype = dtype, .seed = 1}).dtype() == dtype);
  }
}

TEST_CASE("parameters that no distribution has") {
  const Tensor bad = Tensor::from(std::vector<float>{-1, 0, NAN});
  CHECK(ops::all(ops::isnan(random::gamma({3}, bad))).item<int>() == 1);
  CHECK(ops::all(ops::isnan(
                     random::binomial({3}, 5, Tensor::from(std::vector<float>{-0.1F, 1.1F, NAN}))))
            .item<int>() == 1);
  CHECK(ops::all(ops::isnan(random::binomial({1}, INFINITY, 0.5))).item<int>() == 1);
  CHECK(message_of<InvalidArgument>([] { random::gamma({2}, 1, {.dtype = DType::Int32}); }) ==
        "gamma: expected a floating-point dtype, got int32.");
  CHECK(message_of<InvalidArgument>([] {
          random::gamma({2}, ops::ones({3}));
        }).starts_with("broadcast_to: expected a shape that (3,) can be broadcast to"));
}

}  // namespace
}  // namespace cornu::testing
