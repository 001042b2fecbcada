// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <span>

#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

const KernelRunner& kernels() {
  static const KernelRunner runner(register_index_kernels);
  return runner;
}

// Indices in [0, bound).
Tensor indices(const Shape& shape, int64_t bound, DType dtype, uint64_t seed) {
  PhiloxEngine engine(seed);
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& value : values) {
    value = static_cast<double>(engine.below(static_cast<uint64_t>(bound)));
  }
  return tensor_of(values, shape, dtype);
}

struct Axes {
  int64_t outer, size, inner;
  Axes(const Shape& shape, int64_t axis)
      : outer(shape.slice(0, axis).num_elements()),
        size(shape[axis]),
        inner(shape.slice(axis + 1).num_elements()) {}
};

constexpr DType kIndexTypes[] = {DType::Int32, DType::Int64, DType::UInt8};

TEST_CASE("gather takes along an axis, scatter_add is its transpose") {
  for (const Shape& shape : {Shape{7}, Shape{5, 8}, Shape{3, 9, 4}, Shape{2, 3, 40}}) {
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      for (const Shape& index_shape : {Shape{}, Shape{6}, Shape{2, 3}, Shape{0}}) {
        for (DType dtype : {DType::Float32, DType::Float64, DType::UInt8, DType::BFloat16}) {
          for (DType index_type : kIndexTypes) {
            CAPTURE(text(shape));
            CAPTURE(text(axis));
            CAPTURE(text(index_shape));
            CAPTURE(text(dtype));
            const Axes axes(shape, axis);
            const Tensor x = random_tensor(shape, dtype, 1);
            const Tensor index = indices(index_shape, axes.size, index_type, 2);
            const Shape out =
                shape.slice(0, axis).concat(index_shape).concat(shape.slice(axis + 1));
            const auto xs = values_of(x);
            const auto is = values_of(index);
            const Tensor updates = random_tensor(out, dtype, 3);
            const auto us = values_of(updates);
            std::vector<double> taken(us.size());
            std::vector<double> added(xs.size());
            for (size_t i = 0; i < us.size(); ++i) {
              const auto at = static_cast<int64_t>(i);
              const int64_t count = index_shape.num_elements();
              const int64_t outer = at / axes.inner / count;
              const auto which =
                  static_cast<int64_t>(is[static_cast<size_t>(at / axes.inner % count)]);
              const auto from =
                  static_cast<size_t>((outer * axes.size + which) * axes.inner + at % axes.inner);
              taken[i] = xs[from];
              added[from] += us[i];
            }
            check_close(kernels().run("gather", {x, index}, {{"axis", axis}}, {{dtype, out}})[0],
                        taken, 0);
            const Attributes attributes = {{"shape", shape.dims()}, {"axis", axis}};
            check_close(
                kernels().run("scatter_add", {index, updates}, attributes, {{dtype, shape}})[0],
                added, dtype == DType::BFloat16 ? 1e-2 : 1e-6);
          }
        }
      }
    }
  }
}

// take_along_axis of `count` indices along the axis, and put_along_axis_add, against plain loops.
void check_along(const Shape& shape, int64_t axis, int64_t count, DType dtype, DType index_type) {
  CAPTURE(fmt::format("{} {} {} {} {}", shape, axis, count, dtype, index_type));
  Shape index_shape = shape;
  index_shape[axis] = count;
  const Axes from(shape, axis);
  const Axes to(index_shape, axis);
  const Tensor x = random_tensor(shape, dtype, 1);
  const Tensor index = indices(index_shape, std::min<int64_t>(from.size, 256), index_type, 2);
  const Tensor updates = random_tensor(index_shape, dtype, 3);
  const auto xs = values_of(x);
  const auto is = values_of(index);
  const auto us = values_of(updates);
  std::vector<double> taken(us.size());
  std::vector<double> added(xs.size());
  for (size_t i = 0; i < us.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t outer = at / (to.size * to.inner);
    const auto element = static_cast<size_t>(
        (outer * from.size + static_cast<int64_t>(is[i])) * from.inner + at % from.inner);
    taken[i] = xs[element];
    added[element] += us[i];
  }
  check_close(
      kernels().run("take_along_axis", {x, index}, {{"axis", axis}}, {{dtype, index_shape}})[0],
      taken, 0);
  const Attributes attributes = {{"shape", shape.dims()}, {"axis", axis}};
  check_close(
      kernels().run("put_along_axis_add", {index, updates}, attributes, {{dtype, shape}})[0], added,
      dtype == DType::BFloat16 ? 1e-2 : 1e-6);
}

TEST_CASE("take_along_axis and its transpose") {
  for (int64_t axis = 0; axis < 3; ++axis) {
    for (DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::Int8, DType::UInt64,
                        DType::BFloat16}) {
      for (DType index_type : {DType::Int32, DType::Int64, DType::UInt8}) {
        for (const int64_t count : {0, 1, 3}) {
          check_along({4, 5, 6}, axis, count, dtype, index_type);
          check_along({7, 1, 3}, axis, count, dtype, index_type);
        }
      }
      check_along({2, 0, 3}, axis, axis == 1 ? 0 : 2, dtype, DType::Int32);
      check_along({1, 300, 1}, axis, axis == 1 ? 1300 : 1, dtype, DType::Int32);
    }
    // More columns than are taken at a time, in more memory than stays in a cache.
    check_along({3, 170, 261}, axis, 5, DType::Float64, DType::Int32);
    check_along({1, 1001, 131}, axis, axis == 0 ? 1 : 90, DType::Float64, DType::Int64);
  }
}

TEST_CASE(
    "indices along an axis: the same bits on any number of threads, in the order of indices") {
  for (const Shape& shape : {Shape{700, 300}, Shape{300, 700}, Shape{40, 1000, 3}}) {
    for (int64_t axis = 0; axis < 2; ++axis) {
      const Tensor index = indices(shape, 7, DType::Int32, 4);
      const Tensor x = random_tensor(shape, DType::Float32, 5);
      const Attributes attributes = {{"shape", shape.dims()}, {"axis", axis}};
      check_thread_independent(kernels(), "take_along_axis", {x, index}, {{"axis", axis}},
                               {{DType::Float32, shape}});
      check_thread_independent(kernels(), "put_along_axis_add", {index, x}, attributes,
                               {{DType::Float32, shape}});
      const auto sums =
          kernels().run("put_along_axis_add", {index, x}, attributes, {{DType::Float32, shape}})[0];
      const auto is = index.data<int32_t>();
      const auto xs = x.data<float>();
      const Axes axes(shape, axis);
      std::vector<float> expected(xs.size());
      for (size_t i = 0; i < xs.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        const int64_t outer = at / (axes.size * axes.inner);
        expected[size_t((outer * axes.size + is[i]) * axes.inner + at % axes.inner)] += xs[i];
      }
      CHECK(sums.to_vector<float>() == expected);
    }
  }
}

std::string error_of(const std::string& op, const std::vector<Tensor>& inputs,
                     const Attributes& attributes, const TensorType& output) {
  try {
    kernels().run(op, inputs, attributes, {output});
  } catch (const OutOfRange& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("an index outside of the axis is an error that names both") {
  const Tensor x = random_tensor({3, 4}, DType::Float32, 1);
  const Tensor high = Tensor::from(std::vector<int32_t>{0, 4});
  const Tensor low = Tensor::from(std::vector<int64_t>{-4, 0});
  CHECK(error_of("gather", {x, high}, {{"axis", int64_t{1}}}, {DType::Float32, {3, 2}}) ==
        "take: index 4 is outside of [-4, 4), axis 1 of shape (3, 4). Negative indices count from "
        "the "
        "end.");
  CHECK(error_of("gather", {x, low}, {{"axis", int64_t{0}}}, {DType::Float32, {2, 4}}) ==
        "take: index -4 is outside of [-3, 3), axis 0 of shape (3, 4). Negative indices count from "
        "the end.");
  const Attributes scatter = {{"shape", std::vector<int64_t>{3, 4}}, {"axis", int64_t{0}}};
  CHECK(error_of("scatter_add", {high, random_tensor({2, 4}, DType::Float32, 1)}, scatter,
                 {DType::Float32, {3, 4}})
            .starts_with("scatter_add: index 4 is outside of [-3, 3), axis 0 of shape (3, 4)."));
  const Tensor along = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 0, 7}, Shape{3, 2});
  CHECK(error_of("take_along_axis", {x, along}, {{"axis", int64_t{1}}}, {DType::Float32, {3, 2}})
            .starts_with("take_along_axis: index 7 is outside of [-4, 4), axis 1"));
  const Attributes put = {{"shape", std::vector<int64_t>{3, 4}}, {"axis", int64_t{1}}};
  CHECK(error_of("put_along_axis_add", {along, random_tensor({3, 2}, DType::Float32, 1)}, put,
                 {DType::Float32, {3, 4}})
            .starts_with("put_along_axis_add: index 7 is outside of [-4, 4), axis 1"));
}

TEST_CASE("one index of very many is outside, or negative") {
  for (int d = 1; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (!is_integer(dtype)) continue;
    CAPTURE(fmt::format("{}", dtype));
    constexpr int64_t kCount = 50'000, kSize = 100;
    const Tensor x = random_tensor({kSize}, DType::Float32, 1);
    const TensorType out{DType::Float32, {kCount}};
    const Attributes axis{{"axis", int64_t{0}}};
    const bool has_sign = dtype != DType::UInt8 && dtype != DType::UInt32 && dtype != DType::UInt64;
    for (const int64_t place : {int64_t{0}, int64_t{16'384}, int64_t{33'333}, kCount - 1}) {
      CAPTURE(place);
      std::vector<double> numbers(kCount, 5);
      const auto with = [&](int64_t number) {
        numbers[static_cast<size_t>(place)] = static_cast<double>(number);
        return tensor_of(numbers, {kCount}, dtype);
      };
      CHECK(error_of("gather", {x, with(kSize)}, axis, out)
                .starts_with("take: index 100 is outside of [-100, 100), axis 0"));
      if (!has_sign) continue;
      CHECK(error_of("gather", {x, with(-kSize - 1)}, axis, out)
                .starts_with("take: index -101 is outside of [-100, 100), axis 0"));
      const Tensor taken = kernels().run("gather", {x, with(-1)}, axis, {out})[0];
      const std::span<const float> values = taken.data<float>(), all = x.data<float>();
      CHECK(values[static_cast<size_t>(place)] == all[kSize - 1]);
      CHECK(std::ranges::count(values, all[5]) == kCount - 1);
    }
  }
}

TEST_CASE("scatter_add gives the same bits on any number of threads") {
  const Tensor index = indices({1000}, 7, DType::Int32, 1);
  const Tensor updates = random_tensor({1000, 200}, DType::Float32, 2);
  const Attributes attributes = {{"shape", std::vector<int64_t>{7, 200}}, {"axis", int64_t{0}}};
  check_thread_independent(kernels(), "scatter_add", {index, updates}, attributes,
                           {{DType::Float32, {7, 200}}});
  for (const int64_t width : {1, 3, 2048}) {  // rows of one number, of several, divided ones
    const Tensor rows = indices({5000}, 900, DType::Int64, 3);
    const Tensor numbers = random_tensor({5000, width}, DType::Float32, 4);
    check_thread_independent(kernels(), "scatter_add", {rows, numbers},
                             {{"shape", std::vector<int64_t>{900, width}}, {"axis", int64_t{0}}},
                             {{DType::Float32, {900, width}}});
  }
}

TEST_CASE("scatter_add into nothing writes nothing") {
  for (const Shape& shape : {Shape{0, 5, 2000}, Shape{0, 5, 1}, Shape{5, 0}}) {
    const int64_t axis = shape.rank() - 2;
    Shape of_updates = shape;
    of_updates[axis] = 3;
    const Tensor index = indices({3}, 5, DType::Int32, 1);
    auto kernel =
        kernels().make("scatter_add", {index, Tensor::empty(of_updates, DType::Float32)},
                       {{"shape", shape.dims()}, {"axis", axis}}, {{DType::Float32, shape}});
    std::vector<float> guard(1, 7);  // where there is no room for an element
    const void* in[] = {index.raw(), guard.data()};
    void* out[] = {guard.data()};
    kernel->run({.in = in, .out = out});
    CHECK(guard[0] == 7);
  }
}

TEST_CASE("many indices are read by several threads, and the first wrong one is named") {
  std::vector<int32_t> places(50'000);
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int32_t>(i % 7) - 3;
  const Tensor x = random_tensor({7}, DType::Float32, 1);
  const Tensor taken = kernels().run("gather", {x, Tensor::from(places, {50'000})},
                                     {{"axis", int64_t{0}}}, {{DType::Float32, {50'000}}})[0];
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>((places[i] + 7) % 7);
    REQUIRE(taken.data<float>()[i] == x.data<float>()[place]);
  }
  places[20'000] = 7;
  places[40'000] = 9;
  CHECK(error_of("gather", {x, Tensor::from(places, {50'000})}, {{"axis", int64_t{0}}},
                 {DType::Float32, {50'000}})
            .starts_with("take: index 7 is outside of [-7, 7), axis 0 of shape (7,)"));
}

TEST_CASE("gather of many rows on several threads") {
  const Tensor x = random_tensor({50, 64}, DType::Float32, 1);
  const Tensor index = indices({3000}, 50, DType::Int32, 2);
  check_thread_independent(kernels(), "gather", {x, index}, {{"axis", int64_t{0}}},
                           {{DType::Float32, {3000, 64}}});
}

TEST_CASE("one_hot leaves rows of zeros where an index is out of range") {
  for (DType dtype : {DType::Float32, DType::Bool, DType::BFloat16, DType::Int64}) {
    for (DType index_type : {DType::Int32, DType::Int64}) {
      const Tensor index = tensor_of({2, -1, 0, 3}, {2, 2}, index_type);
      const Tensor result = kernels().run(
          "one_hot", {index}, {{"depth", int64_t{3}}, {"dtype", dtype}}, {{dtype, {2, 2, 3}}})[0];
      check_close(result, {0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0}, 0);
    }
  }
}

TEST_CASE("iota counts along an axis") {
  for (DType dtype : {DType::Float32, DType::Int32, DType::Int64, DType::Float16}) {
    for (int64_t axis = 0; axis < 2; ++axis) {
      const Attributes attributes = {
          {"shape", std::vector<int64_t>{2, 3}}, {"axis", axis}, {"dtype", dtype}};
      const Tensor result = kernels().run("iota", {}, attributes, {{dtype, {2, 3}}})[0];
      if (axis == 0) check_close(result, {0, 0, 0, 1, 1, 1}, 0);
      if (axis == 1) check_close(result, {0, 1, 2, 0, 1, 2}, 0);
    }
  }
}

TEST_CASE("long iota and one_hot on several threads") {
  for (const Shape& shape : {Shape{100'003}, Shape{7, 30'011}, Shape{301, 307, 3}}) {
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      const Attributes attributes = {
          {"shape", shape.dims()}, {"axis", axis}, {"dtype", DType::Int32}};
      const Tensor result = kernels().run("iota", {}, attributes, {{DType::Int32, shape}})[0];
      const Axes axes(shape, axis);
      std::vector<int32_t> expected(static_cast<size_t>(shape.num_elements()));
      for (size_t i = 0; i < expected.size(); ++i) {
        expected[i] = static_cast<int32_t>(static_cast<int64_t>(i) / axes.inner % axes.size);
      }
      CHECK(result.to_vector<int32_t>() == expected);
    }
  }
  const Tensor index = indices({3001}, 70, DType::Int32, 7);  // a few of them beyond 64
  const Tensor hot =
      kernels().run("one_hot", {index}, {{"depth", int64_t{64}}, {"dtype", DType::Float32}},
                    {{DType::Float32, {3001, 64}}})[0];
  std::vector<float> expected(3001 * 64);
  for (size_t i = 0; i < 3001; ++i) {
    const auto place = static_cast<size_t>(index.data<int32_t>()[i]);
    if (place < 64) expected[i * 64 + place] = 1;
  }
  CHECK(hot.to_vector<float>() == expected);
}

TEST_CASE("searchsorted: the places before and behind equal elements, in every dtype") {
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    if (dtype == DType::Bool || is_half(dtype)) continue;  // found by other ops
    for (const int64_t size : {0, 1, 2, 3, 7, 8, 33, 100}) {
      for (const int64_t count : {0, 1, 7, 8, 9, 3000}) {
        std::vector<double> sorted = values_of(random_tensor({size}, dtype, 1));
        std::ranges::sort(sorted);
        const Tensor values = random_tensor({count}, dtype, 2);
        for (const bool right : {false, true}) {
          CAPTURE(fmt::format("{} {} {} {}", dtype, size, count, right));
          std::vector<double> expected;
          for (const double value : values_of(values)) {
            const auto place = right ? std::ranges::upper_bound(sorted, value)
                                     : std::ranges::lower_bound(sorted, value);
            expected.push_back(static_cast<double>(place - sorted.begin()));
          }
          const Tensor places =
              kernels().run("searchsorted", {tensor_of(sorted, {size}, dtype), values},
                            {{"right", right}}, {{DType::Int32, {count}}})[0];
          check_close(places, expected, 0);
        }
      }
    }
  }
}

TEST_CASE("searchsorted: NaN comes behind infinity, both zeros are equal") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    const Tensor sorted = tensor_of({-kInfinity, -0.0, 0.0, 1, kInfinity, kNan, kNan}, {7}, dtype);
    const Tensor values = tensor_of({kNan, -0.0, 0.0, kInfinity, -kInfinity, 2}, {6}, dtype);
    const auto places = [&](bool right) {
      return kernels()
          .run("searchsorted", {sorted, values}, {{"right", right}}, {{DType::Int32, {6}}})[0]
          .to_vector<int32_t>();
    };
    CHECK(places(false) == std::vector<int32_t>{5, 1, 1, 4, 0, 4});
    CHECK(places(true) == std::vector<int32_t>{7, 3, 3, 5, 1, 4});
  }
}

}  // namespace
}  // namespace cornu::cpu::testing
