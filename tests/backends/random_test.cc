// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

const KernelRunner& kernels() {
  static const KernelRunner runner(register_random_kernels);
  return runner;
}

const Tensor& seed() {
  static const Tensor seed = Tensor::from(std::vector<uint32_t>{0x12345678u, 0x9ABCDEF0u});
  return seed;
}
constexpr uint64_t kKey = 0x9ABCDEF012345678u;

Tensor draw(const std::string& op, int64_t count, DType dtype) {
  const Attributes attributes = {{"shape", std::vector<int64_t>{count}}, {"dtype", dtype}};
  return kernels().run(op, {seed()}, attributes, {{dtype, {count}}})[0];
}

constexpr int64_t kCounts[] = {0, 1, 3, 4, 5, 31, 64, 1023, 1025, 20011};

TEST_CASE("random_bits are the words of philox") {
  for (int64_t count : kCounts) {
    const Tensor bits = draw("random_bits", count, DType::UInt32);
    const auto words = bits.data<uint32_t>();
    for (size_t i = 0; i < words.size(); ++i) REQUIRE(words[i] == philox(kKey, i / 4)[i % 4]);
  }
}

TEST_CASE("random_uniform takes one word for a float, two for a double") {
  for (int64_t count : kCounts) {
    const Tensor singles = draw("random_uniform", count, DType::Float32);
    const Tensor doubles = draw("random_uniform", count, DType::Float64);
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      REQUIRE(singles.data<float>()[i] == to_unit_float(philox(kKey, i / 4)[i % 4]));
      const auto words = philox(kKey, i / 2);
      REQUIRE(doubles.data<double>()[i] == to_unit_double(words[i % 2 * 2], words[i % 2 * 2 + 1]));
    }
  }
}

void check_masks() {
  const Tensor offset = Tensor::scalar(int64_t{13});
  const auto numbers = draw("random_uniform", 2100, DType::Float32).to_vector<float>();
  // Thresholds that are equal to some of the numbers, and their neighbors.
  for (const float least : {0.0f, 1e-9f, 0.1f, 0.5f, numbers[20], std::nextafter(numbers[20], 1.0f),
                            std::nextafter(numbers[20], 0.0f), 1.0f, 1.5f, -1.0f}) {
    CAPTURE(least);
    const Attributes attributes = {{"shape", std::vector<int64_t>{2087}},
                                   {"least", static_cast<double>(least)}};
    const TensorType type{DType::Bool, {2087}};
    const Tensor plain = kernels().run("random_mask", {seed()}, attributes, {type})[0];
    const Tensor placed = kernels().run("random_mask", {seed(), offset}, attributes, {type})[0];
    for (size_t i = 0; i < 2087; ++i) {
      REQUIRE(plain.data<bool>()[i] == (numbers[i] >= least));
      REQUIRE(placed.data<bool>()[i] == (numbers[i + 13] >= least));
    }
    check_thread_independent(kernels(), "random_mask", {seed()}, attributes, {type});
  }
}

TEST_CASE("random_mask says where random_uniform is no less, on every instruction set") {
  check_masks();
  for_each_instruction_set(check_masks);
}

TEST_CASE("random_uniform stays below 1 in 16 bits") {
  for (DType dtype : {DType::Float16, DType::BFloat16}) {
    const auto values = values_of(draw("random_uniform", 20011, dtype));
    CHECK(*std::ranges::max_element(values) < 1);
    CHECK(*std::ranges::max_element(values) > 0.99);
    CHECK(*std::ranges::min_element(values) >= 0);
    CHECK(*std::ranges::min_element(values) < 0.01);
  }
}

TEST_CASE("random_normal is Box and Muller's transform") {
  for (int64_t count : kCounts) {
    const auto singles = values_of(draw("random_normal", count, DType::Float32));
    const auto doubles = values_of(draw("random_normal", count, DType::Float64));
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const auto words = philox(kKey, i / 4);
      const double u = (words[i % 4 / 2 * 2] + 1.0) * 0x1p-32;
      const double v = words[i % 4 / 2 * 2 + 1] * 0x1p-32;
      auto normal = [&](double radius_of, double turn) {
        const double radius = std::sqrt(-2 * std::log(radius_of));
        const double angle = 2 * std::numbers::pi * turn;
        return radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle));
      };
      REQUIRE(std::abs(singles[i] - normal(u, v)) < 1e-6);
      const auto wide = philox(kKey, i / 2);
      REQUIRE(std::abs(doubles[i] - normal(to_unit_double(wide[0], wide[1]) + 0x1p-53,
                                           to_unit_double(wide[2], wide[3]))) < 1e-13);
    }
  }
}

TEST_CASE("random_normal has the moments of a normal distribution") {
  for (DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
    const auto values = values_of(draw("random_normal", 400000, dtype));
    double sums[4] = {};
    for (double value : values) {
      double power = 1;
      for (double& sum : sums) sum += (power *= value) / static_cast<double>(values.size());
    }
    CHECK(std::abs(sums[0]) < 0.01);
    CHECK(std::abs(sums[1] - 1) < 0.01);
    CHECK(std::abs(sums[2]) < 0.02);
    CHECK(std::abs(sums[3] - 3) < 0.06);
  }
}

TEST_CASE("random_permutation holds every number once, in another order for another seed") {
  for (int64_t count : {0, 1, 2, 1000}) {
    const Attributes attributes = {{"count", count}};
    auto permute = [&](const Tensor& from) {
      return kernels()
          .run("random_permutation", {from}, attributes, {{DType::Int32, {count}}})[0]
          .to_vector<int32_t>();
    };
    const auto order = permute(seed());
    auto sorted = order;
    std::ranges::sort(sorted);
    for (size_t i = 0; i < sorted.size(); ++i) CHECK(sorted[i] == static_cast<int32_t>(i));
    const auto other = permute(Tensor::from(std::vector<uint32_t>{1, 2}));
    if (count == 1000) CHECK(order != other);
  }
}

TEST_CASE("random numbers are the same on any number of threads") {
  for (const char* op : {"random_uniform", "random_normal"}) {
    for (DType dtype : {DType::Float32, DType::Float64, DType::BFloat16}) {
      const Attributes attributes = {{"shape", std::vector<int64_t>{50001}}, {"dtype", dtype}};
      check_thread_independent(kernels(), op, {seed()}, attributes, {{dtype, {50001}}});
    }
  }
}

TEST_CASE("random numbers are the same on any instruction set") {
  for (const char* op : {"random_uniform", "random_normal"}) {
    for (DType dtype : {DType::Float32, DType::Float64}) {
      const Tensor best = draw(op, 20011, dtype);
      for_each_instruction_set([&] {
        const Tensor result = draw(op, 20011, dtype);
        CHECK(std::memcmp(best.raw(), result.raw(), best.bytes()) == 0);
      });
    }
  }
}

}  // namespace
}  // namespace cornu::cpu::testing
