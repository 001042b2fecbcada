// SPDX-License-Identifier: Apache-2.0
// Operators on tensors, variables and numbers, and dtypes by name.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/core/variable.h"
#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "layers/core/dense.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

TEST_CASE("arithmetic, remainders, signs") {
  const Tensor x = {-3, 4, 5};
  check_values(x % 3, {3}, {0, 1, 2});
  check_values(7 % x, {3}, {-2, 3, 2});
  check_values(-x, {3}, {3, -4, -5});
  check_values(+x, {3}, {-3, 4, 5});
  Tensor y = x;
  y += 1;
  y *= 2;
  y -= x;
  check_values(y, {3}, {-1, 6, 7});
  y %= 4;
  check_values(y, {3}, {3, 2, 3});
  check_values(x, {3}, {-3, 4, 5});
}

TEST_CASE("comparisons are of elements, == and != too") {
  const Tensor x = {1, 2, 3};
  const Variable same(Tensor::from({1, 2, 3}));
  for (const Tensor& result : {x == 2, 2 == x, x == Tensor(2.0), same == 2, !(x != 2)}) {
    CHECK(result.dtype() == DType::Bool);
    check_values(result, {3}, {0, 1, 0});
  }
  check_values(x != same, {3}, {0, 0, 0});
  check_values(x >= 2, {3}, {0, 1, 1});
  check_values((x == Tensor{{1}, {3}}), {2, 3}, {1, 0, 0, 0, 0, 1});
}

TEST_CASE("operators of bools are logical, of integers bitwise") {
  const Tensor a = {true, true, false, false};
  const Tensor b = {true, false, true, false};
  check_values(a & b, {4}, {1, 0, 0, 0});
  check_values(a | b, {4}, {1, 1, 1, 0});
  check_values(a ^ b, {4}, {0, 1, 1, 0});
  check_values(~a, {4}, {0, 0, 1, 1});
  check_values(!a, {4}, {0, 0, 1, 1});
  check_values(!Tensor{0, 5}, {2}, {1, 0});
  const Tensor x = {6, -2};
  check_values(x & 3, {2}, {2, 2});
  check_values(x | 1, {2}, {7, -1});
  check_values(x ^ 2, {2}, {4, -4});
  check_values(~x, {2}, {-7, 1});
  Tensor c = a;
  c &= b;
  c |= Tensor{false, false, false, true};
  c ^= true;
  check_values(c, {4}, {0, 1, 1, 0});
}

TEST_CASE("dtypes are taken by name and by enumerator") {
  const Tensor x = {1.5, -2.5};
  CHECK(ops::cast(x, "int32").to_vector<int32_t>() == std::vector<int32_t>{1, -2});
  CHECK(ops::cast(x, std::string("float16")).dtype() == DType::Float16);
  CHECK(ops::zeros({2}, "uint8").dtype() == DType::UInt8);
  CHECK(ops::zeros_like(x, "int64").dtype() == DType::Int64);
  CHECK(ops::full({2}, 1, "float64").dtype() == DType::Float64);
  CHECK(ops::one_hot(Tensor{1}, 2, -1, "bool").dtype() == DType::Bool);
  CHECK(random::uniform({2}, {.dtype = "bfloat16"}).dtype() == DType::BFloat16);
  CHECK(Tensor::empty({2}, "uint32").dtype() == DType::UInt32);
  CHECK(Input({.shape = {2}, .dtype = "int32"}).dtype() == DType::Int32);
  const layers::Dense by_enumerator({.units = 1, .dtype = DType::Float64});
  const layers::Dense by_name({.units = 1, .dtype = "float64"});
  CHECK(by_enumerator.get().dtype_policy().compute == DType::Float64);
  CHECK(by_name.get().dtype_policy().compute == DType::Float64);
  CHECK(message_of<InvalidArgument>([&] {
          ops::cast(x, "flaot32");
        }).starts_with("Unknown dtype 'flaot32'. Did you mean 'float32'?"));
}

TEST_CASE("arange refuses integers that its dtype doesn't hold") {
  CHECK(message_of<InvalidArgument>([] { ops::arange(0, 6000000000, 2000000000); }) ==
        "arange: expected a dtype that holds the numbers from 0 to 4000000000, got int32. Give it "
        "another, for example DType::Int64.");
  CHECK_THROWS_AS(ops::arange(250, 260, 1, DType::UInt8), InvalidArgument);
  CHECK_THROWS_AS(ops::arange(2, -2, -1, DType::UInt32), InvalidArgument);
  CHECK_THROWS_AS(ops::arange(-129, 0, 1, DType::Int8), InvalidArgument);
  check_same(ops::arange(int64_t{6000000000}, int64_t{0}, int64_t{-6000000000}, DType::Int64),
             Tensor::from<int64_t>({6000000000}));
  check_same(ops::arange(254, 256, 1, DType::UInt8), Tensor::from<uint8_t>({254, 255}));
  check_same(ops::arange(INT64_MIN, INT64_MAX, INT64_MAX, DType::Int64),
             Tensor::from<int64_t>({INT64_MIN, -1, INT64_MAX - 1}));
  check_same(ops::arange(0, 5, 6000000000), Tensor::from<int32_t>({0}));
  CHECK(ops::arange(6000000000, 0).num_elements() == 0);
}

TEST_CASE("arange of narrow dtypes: down in unsigned ones, exact in 16 bits") {
  check_same(ops::arange(10, 0, -3, DType::UInt8), Tensor::from<uint8_t>({10, 7, 4, 1}));
  check_same(ops::arange(3, 0, -1, DType::UInt64), Tensor::from<uint64_t>({3, 2, 1}));
  check_values(ops::arange(-60000, 60000, 20000, DType::Float16), {6},
               {-60000, -40000, -20000, 0, 20000, 40000}, 1e-3);
  check_values(ops::arange(0, 2000, 3, DType::BFloat16)[349], {}, {1048});
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    check_compiled(
        [=](const std::vector<Tensor>& x) { return ops::arange(-7, 2000, 3, dtype) + x[0]; },
        {ops::zeros({}, dtype)}, 0);
  }
}

TEST_CASE("arange of integers and of floats") {
  check_values(ops::arange(4), {4}, {0, 1, 2, 3});
  CHECK(ops::arange(4).dtype() == DType::Int32);
  check_values(ops::arange(3, -3, -2), {3}, {3, 1, -1});
  check_values(ops::arange(5, 1), {0}, {});
  CHECK(ops::arange(2, "float64").dtype() == DType::Float64);
  CHECK(ops::arange(int64_t{1}, int64_t{5}, int64_t{2}, DType::Int64).dtype() == DType::Int64);
  check_values(ops::arange(0.5, 3.5), {3}, {0.5, 1.5, 2.5});
  CHECK(ops::arange(0.5, 3.5).dtype() == DType::Float32);
  check_values(ops::arange(0., 1., .25), {4}, {0, 0.25, 0.5, 0.75});
  check_values(ops::arange(1, 0, -0.25), {4}, {1, 0.75, 0.5, 0.25});
  check_values(ops::arange(2.5), {3}, {0, 1, 2});
  check_values(ops::arange(1.0f, 1.0f), {0}, {});
  check_values(ops::arange(0.0, 5.0, 2.0, "int32"), {3}, {0, 2, 4});
  CHECK(message_of<InvalidArgument>([] { ops::arange(0, 1, 0); }) ==
        "arange: expected a step other than 0.");
  CHECK_THROWS_AS(ops::arange(0., 1., 0.), InvalidArgument);
  CHECK_THROWS_AS(ops::arange(0., 1e300, 1e-300), InvalidArgument);
  CHECK_THROWS_AS(ops::arange(0., std::nan(""), 1.), InvalidArgument);
  constexpr auto kLowest = std::numeric_limits<int64_t>::lowest();
  constexpr auto kHighest = std::numeric_limits<int64_t>::max();
  CHECK_THROWS_AS(ops::arange(kLowest, kHighest), InvalidArgument);
}

TEST_CASE("a function has the bits of its ops, where products are added to, too") {
  const Tensor x = ops::sin(ops::arange(0.0f, 1003.0f));
  const auto f = [](const Tensor& v) {
    return std::vector{v * 1.1f + ops::square(v) - 0.3f * v, v * 0.7f - v * 0.7f};
  };
  const std::vector<Tensor> eager = f(x);
  const Function compiled = function([&](const Tensor& v) { return ops::concatenate(f(v), 0); });
  const std::vector<float> found = compiled(x).to_vector<float>();
  CHECK(found == ops::concatenate(eager, 0).to_vector<float>());
  CHECK(std::all_of(found.begin() + 1003, found.end(), [](float value) { return value == 0; }));
}

TEST_CASE("NaN passes relu, behind products with a bias too") {
  const Function layer = function([](const Tensor& x, const Tensor& w, const Tensor& b) {
    return ops::relu(ops::matmul(x, w) + b);
  });
  for (const DType dtype : {DType::Float32, DType::BFloat16, DType::Float16}) {
    CAPTURE(size_of(dtype));
    std::vector<float> rows(4 * 16, -1.0f);
    rows[2 * 16 + 5] = std::nanf("");
    const Tensor x = ops::cast(Tensor::from(rows, {4, 16}), dtype);
    const auto y = ops::cast(layer(x, ops::ones({16, 8}, dtype), ops::ones({8}, dtype)), "float32")
                       .to_vector<float>();
    for (size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i / 8 == 2));
  }
}

}  // namespace
}  // namespace cornu::testing
