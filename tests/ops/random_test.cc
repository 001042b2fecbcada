// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

constexpr int64_t kCount = 20'000;

struct Moments {
  double mean = 0;
  double stddev = 0;
  double low = 0;
  double high = 0;
};

Moments moments_of(const Tensor& x) {
  const auto values = to_doubles(x);
  Moments m;
  m.low = *std::min_element(values.begin(), values.end());
  m.high = *std::max_element(values.begin(), values.end());
  for (double value : values) m.mean += value / static_cast<double>(values.size());
  for (double value : values) {
    m.stddev += (value - m.mean) * (value - m.mean) / static_cast<double>(values.size());
  }
  m.stddev = std::sqrt(m.stddev);
  return m;
}

TEST_CASE("normal and truncated_normal: moments and bounds") {
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    INFO(to_string(dtype));
    const Tensor x = random::normal({kCount}, {.mean = 3, .stddev = 2, .dtype = dtype, .seed = 7});
    CHECK(x.dtype() == dtype);
    CHECK(moments_of(x).mean == doctest::Approx(3).epsilon(0.02));
    CHECK(moments_of(x).stddev == doctest::Approx(2).epsilon(0.02));
    const Tensor y = random::truncated_normal({kCount}, {.stddev = 2, .dtype = dtype, .seed = 7});
    CHECK(y.dtype() == dtype);
    CHECK(moments_of(y).low >= -4);
    CHECK(moments_of(y).high <= 4);
    CHECK(std::abs(moments_of(y).mean) < 0.05);
    CHECK(moments_of(y).stddev == doctest::Approx(2 * 0.8796).epsilon(0.02));
  }
}

TEST_CASE("uniform and randint: bounds and means") {
  const Moments u = moments_of(random::uniform({kCount}, {.minval = -1, .maxval = 3, .seed = 1}));
  CHECK(u.low >= -1);
  CHECK(u.high <= 3);
  CHECK(std::abs(u.mean - 1) < 0.05);
  CHECK(u.stddev == doctest::Approx(4 / std::sqrt(12)).epsilon(0.02));
  // 16-bit sums aren't rounded up to the bound.
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32}) {
    CAPTURE(dtype);
    const Tensor x =
        random::uniform({kCount}, {.minval = 1, .maxval = 3, .dtype = dtype, .seed = 1});
    CHECK(moments_of(ops::cast(x, DType::Float32)).high < 3);
    const Tensor tenths = random::uniform({kCount}, {.maxval = 0.1, .dtype = dtype, .seed = 1});
    CHECK(moments_of(ops::cast(tenths, DType::Float32)).high < 0.1);
  }
  const Tensor digits = random::randint({kCount}, 0, 10, {.seed = 3});
  CHECK(digits.dtype() == DType::Int32);
  std::vector<int> counts(10);
  for (int32_t digit : digits.data<int32_t>()) ++counts.at(static_cast<size_t>(digit));
  for (int count : counts) CHECK(std::abs(count - kCount / 10) < 200);
  const Moments wide =
      moments_of(random::randint({kCount}, -5, -3, {.dtype = DType::Int64, .seed = 3}));
  CHECK(wide.low == -5);
  CHECK(wide.high == -4);
  CHECK(random::randint({4}, 0, 256, {.dtype = DType::UInt8, .seed = 1}).dtype() == DType::UInt8);
}

TEST_CASE("the same seed gives the same numbers, another one others") {
  const auto draw = [](Seed seed) { return to_doubles(random::normal({8}, {.seed = seed})); };
  CHECK(draw(1) == draw(1));
  CHECK(draw(1) != draw(2));
  CHECK(draw(1) == draw(Tensor::from(std::vector<uint32_t>{1, 0})));
  CHECK(draw(1) != draw(Tensor::from(std::vector<uint32_t>{1, 1})));
  set_random_seed(5);
  const auto first = draw({});
  const auto second = draw(std::nullopt);
  CHECK(first != second);
  set_random_seed(5);
  CHECK(draw({}) == first);
  // A longer draw starts with the numbers of a shorter one.
  const auto longer = to_doubles(random::uniform({100}, {.seed = 1}));
  const auto shorter = to_doubles(random::uniform({10}, {.seed = 1}));
  CHECK(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST_CASE("a generator that several threads share gives each key once") {
  const random::SeedGenerator generator(1);
  std::vector<std::vector<uint32_t>> keys(4);
  std::vector<std::thread> threads;
  for (auto& own : keys) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) own.push_back(generator.next().data<uint32_t>()[1]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint32_t> all;
  for (const auto& own : keys) all.insert(own.begin(), own.end());
  CHECK(all.size() == 4000);
}

TEST_CASE("compiled draws are the eager ones") {
  const Tensor key = Tensor::from(std::vector<uint32_t>{9, 1});
  check_compiled(
      [](const std::vector<Tensor>& in) {
        return random::normal({5, 3}, {.seed = in[0]});
      },
      {key}, 0);
  check_compiled(
      [](const std::vector<Tensor>& in) { return random::randint({7}, 2, 9, {.seed = in[0]}); },
      {key}, 0);
  check_compiled(
      [](const std::vector<Tensor>& in) { return random::permutation(9, {.seed = in[0]}); }, {key},
      0);
}

TEST_CASE("permutation and shuffle keep every element") {
  auto values = to_doubles(random::permutation(100, {.seed = 1}));
  CHECK_FALSE(std::is_sorted(values.begin(), values.end()));
  CHECK(std::set<double>(values.begin(), values.end()).size() == 100);
  const Tensor x = ops::reshape(ops::arange(20), {4, 5});
  const Tensor shuffled = random::shuffle(x, {.axis = 1, .seed = 2});
  check_values(ops::sort(shuffled), {4, 5}, to_doubles(x));
  CHECK(to_doubles(shuffled) != to_doubles(x));
  // Whole columns are moved: within a column, rows still differ by 5.
  check_values(ops::slice_axis(shuffled, 0, 1) - ops::slice_axis(shuffled, 0, 0, -1), {3, 5},
               std::vector<double>(15, 5.0));
  check_values(random::permutation(0, {.seed = 1}), {0}, {});
}

TEST_CASE("categorical draws classes as often as their probabilities say") {
  const Tensor logits = ops::log(Tensor::from(std::vector<float>{0.2f, 0.8f, 1, 0}, {2, 2}));
  const Tensor drawn = random::categorical(logits, 5000, {.seed = 3});
  CHECK(drawn.shape() == Shape{2, 5000});
  CHECK(drawn.dtype() == DType::Int32);
  const auto means = to_doubles(ops::mean(drawn, 1));
  CHECK(std::abs(means[0] - 0.8) < 0.02);
  CHECK(means[1] == 0);
}

TEST_CASE("dropout: rate, scale, noise shape, gradient") {
  const Tensor x = ops::ones({100, 100});
  const Tensor y = random::dropout(x, 0.25, {.seed = 1});
  const auto values = to_doubles(y);
  const auto dropped = std::count(values.begin(), values.end(), 0.0);
  CHECK(std::abs(dropped - 2500) < 150);
  for (double value : values) CHECK((value == 0 || value == doctest::Approx(1 / 0.75)));
  const Tensor rows = random::dropout(x, 0.5, {.noise_shape = Shape{100, 1}, .seed = 1});
  for (double mean : to_doubles(ops::mean(rows, 1))) CHECK((mean == 0 || mean == 2));
  check_values(random::dropout(ops::ones({3}), 1, {.seed = 1}), {3}, {0, 0, 0});
  check_values(random::dropout(ops::ones({3}), 0, {.seed = 1}), {3}, {1, 1, 1});
  GradientTape tape;
  tape.watch(x);
  const Tensor z = random::dropout(x, 0.25, {.seed = 1});
  CHECK(to_doubles(tape.gradient(z, x)) == values);
}

TEST_CASE("mistakes") {
  CHECK(message_of<InvalidArgument>([] {
          random::randint({2}, 3, 3);
        }).find("randint: expected minval < maxval") == 0);
  CHECK(message_of<InvalidArgument>([] { random::randint({2}, 0, 3, {.dtype = "float32"}); }) ==
        "randint: expected an integer dtype, got float32.");
  CHECK(message_of<InvalidArgument>([] { random::truncated_normal({2}, {.dtype = "int32"}); }) ==
        "truncated_normal: expected a float dtype, got int32.");
  CHECK(message_of<InvalidArgument>([] {
          random::categorical(ops::ones({2, 3}), -1);
        }) == "categorical: expected num_samples from 0, got -1.");
  CHECK(message_of<InvalidArgument>([] { random::dropout(ops::ones({2}), 1.5); }) ==
        "dropout: expected a rate in [0, 1], got 1.5.");
  CHECK(message_of<InvalidArgument>([] {
          random::normal({2}, {.seed = Tensor::from(std::vector<int32_t>{1, 2})});
        }) == "random: expected a key of dtype uint32 and shape (2,), got int32 (2,).");
  CHECK(message_of<InvalidArgument>([] {
          random::normal({2}, {.dtype = DType::Int32});
        }).find("random_normal: expected a float dtype, got int32") == 0);
}

}  // namespace
}  // namespace cornu::testing
