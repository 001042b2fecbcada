// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>

#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"
#include "tests/support/layer_conformance.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;
using Ints = std::vector<int64_t>;

TEST_CASE("take: every axis, value, gradient, second-order gradient") {
  const Tensor x = random_tensor({3, 4, 2});
  const Tensor indices = Tensor::from(std::vector<int32_t>{2, 0, 2, 1}, {2, 2});
  for (int64_t axis = 0; axis < 3; ++axis) {
    const Tensor places = axis == 2 ? ops::minimum(indices, 1) : indices;
    const Shape shape = x.shape().slice(0, axis).concat({2, 2}).concat(x.shape().slice(axis + 1));
    std::vector<double> expected;
    for (const Ints& p : indices_of(shape)) {
      const auto at = static_cast<size_t>(axis);
      Ints from(p.begin(), p.begin() + axis);
      from.push_back(
          static_cast<int64_t>(to_doubles(places)[offset_of({2, 2}, {p[at], p[at + 1]})]));
      from.insert(from.end(), p.begin() + axis + 2, p.end());
      expected.push_back(to_doubles(x)[offset_of(x.shape(), from)]);
    }
    check_op([&](const Inputs& in) { return ops::take(in[0], in[1], axis); }, {x, places}, shape,
             expected);
  }
  check_values(ops::take(Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2}), 2), {}, {3});
  check_values(ops::take(x, Tensor::empty({0}, DType::Int32), 0), {0, 4, 2}, {});
}

TEST_CASE("negative indices count from the end") {
  const Tensor x = random_tensor({2, 3});
  const auto v = to_doubles(x);
  const Tensor last = Tensor::from({-1, 0});
  check_op([](const Inputs& in) { return ops::take(in[0], in[1], 1); }, {x, last}, {2, 2},
           {v[2], v[0], v[5], v[3]});
  check_op([](const Inputs& in) { return ops::take_along_axis(in[0], in[1], -1); },
           {x, Tensor::from({{-1}, {-3}})}, {2, 1}, {v[2], v[3]});
  check_values(ops::take(x, -1), {}, {v[5]});
  check_values(ops::take(Tensor::from({5, 6}), Tensor::from(std::vector<uint8_t>{1})), {1}, {6});
}

TEST_CASE("take_along_axis: value and gradients") {
  const Tensor x = random_tensor({2, 3});
  const Tensor indices = Tensor::from(std::vector<int64_t>{2, 0, 1, 1}, {2, 2});
  const auto v = to_doubles(x);
  check_op([](const Inputs& in) { return ops::take_along_axis(in[0], in[1], -1); }, {x, indices},
           {2, 2}, {v[2], v[0], v[4], v[4]});
  const Tensor rows = Tensor::from(std::vector<int32_t>{1, 0, 1}, {1, 3});
  check_op([](const Inputs& in) { return ops::take_along_axis(in[0], in[1], 0); }, {x, rows},
           {1, 3}, {v[3], v[1], v[5]});
}

TEST_CASE("take_along_axis broadcasts other axes") {
  const Tensor x = random_tensor({2, 5, 3}, -2, 2, 4);
  const Tensor places = Tensor::from<int32_t>({4, 0, -2, 1}, {2, 2, 1});
  const auto taken = [](const Tensor& a, const Tensor& b) { return ops::take_along_axis(a, b, 1); };
  check_same(taken(x, places), taken(x, ops::broadcast_to(places, {2, 2, 3})));
  const Tensor row = x[Slice(0, 1)];
  check_same(taken(row, places), taken(ops::broadcast_to(row, {2, 5, 3}), places));
  CHECK(message_of<InvalidArgument>([&] {
          taken(x, ops::zeros({3, 2, 1}, "int32"));
        }).starts_with("take_along_axis: expected indices of shape (2, 5, 3) but for axis 1"));
}

TEST_CASE("take_along_axis without an axis") {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  check_values(ops::take_along_axis(x, Tensor::from({{3}, {0}})), {2}, {4, 1});
}

TEST_CASE("one_hot: axes, dtypes, classes that aren't there") {
  const Tensor x = Tensor::from(std::vector<int32_t>{1, 3, -1});
  check_values(ops::one_hot(x, 3), {3, 3}, {0, 1, 0, 0, 0, 0, 0, 0, 0});
  check_values(ops::one_hot(x, 2, 0), {2, 3}, {0, 0, 0, 1, 0, 0});
  CHECK(ops::one_hot(x, 2).dtype() == DType::Float32);
  CHECK(ops::one_hot(x, 2, -1, DType::Bool).dtype() == DType::Bool);
  check_values(ops::one_hot(x, 2, -1, DType::Bool), {3, 2}, {0, 1, 0, 0, 0, 0});
}

TEST_CASE("segment_sum: value and gradients") {
  const Tensor data = random_tensor({4, 2});
  const Tensor ids = Tensor::from(std::vector<int32_t>{2, 0, 2, 2});
  const auto v = to_doubles(data);
  check_op([](const Inputs& in) { return ops::segment_sum(in[0], in[1], 3); }, {data, ids}, {3, 2},
           {v[2], v[3], 0, 0, v[0] + v[4] + v[6], v[1] + v[5] + v[7]});
}

TEST_CASE("in_top_k: ties, targets that are no class, predictions that aren't finite") {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const Tensor predictions = Tensor::from(
      std::vector<float>{0.1f, 0.3f, 0.6f, 0.5f, 0.5f, 0.1f, 1, 2, 3, 1, kNaN, 3}, {4, 3});
  const Tensor targets = Tensor::from(std::vector<int32_t>{1, 0, 5, 2});
  check_values(ops::in_top_k(targets, predictions, 1), {4}, {0, 1, 0, 0});
  check_values(ops::in_top_k(targets, predictions, 2), {4}, {1, 1, 0, 0});
}

TEST_CASE("integers wrap around where they are summed, and numbers cast to them stay in range") {
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  const Tensor sums = ops::segment_sum(Tensor({kMax, 1, 5}), Tensor({0, 0, 1}), 2);
  CHECK(sums.to_vector<int32_t>() == std::vector<int32_t>{-kMax - 1, 5});
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Tensor& number : {Tensor(infinity), Tensor(infinity).strong()}) {
    CHECK(ops::cast(number, DType::Int32).item<int64_t>() == kMax);
    CHECK(ops::cast(-number, DType::Int32).item<int64_t>() == -int64_t{kMax} - 1);
  }
  CHECK(test::error_of([] {
          ops::depth_to_space(ops::ones({1, 2, 2, 4}), 1'000'000'000'000);
        }) ==
        "InvalidArgument: depth_to_space: expected a block_size of at most 1048576, got "
        "1000000000000.");
  // With a single window, any stride is allowed.
  const int64_t far = std::numeric_limits<int64_t>::max();
  const Tensor image = ops::ones({1, 2, 2, 1});
  CHECK(ops::max_pool(image, {2, 2}, {.strides = Ints{far, far}}).item<float>() == 1);
}

}  // namespace
}  // namespace cornu::testing
