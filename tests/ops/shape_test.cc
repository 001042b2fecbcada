// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <limits>
#include <numeric>

#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

TEST_CASE("slices by steps longer than any axis, and their gradients") {
  constexpr int64_t kLong = std::numeric_limits<int64_t>::max();
  const Tensor x = random_tensor({5});
  for (const int64_t step : {int64_t{7}, int64_t{1} << 40, kLong}) {
    CAPTURE(step);
    check_gradients([=](const auto& in) { return in[0](Slice(1, {}, step)); }, {x});
    check_gradients([=](const auto& in) { return in[0](Slice({}, {}, -step)); }, {x});
    check_gradients([=](const auto& in) { return ops::slice(in[0], {2}, {1}, {step}); }, {x});
  }
}

using Inputs = std::vector<Tensor>;
using Place = std::vector<int64_t>;

// Checks an op of one input whose element at an index is the input's element at `from` of the
// index, or `value` when `from` returns nullopt.
void check_moved(const OpFunction& f, const Shape& in, const Shape& out,
                 const std::function<std::optional<Place>(const Place&)>& from, double value = 0) {
  const Tensor x = random_tensor(in);
  const auto values = to_doubles(x);
  std::vector<double> expected;
  for (const Place& index : indices_of(out)) {
    const auto source = from(index);
    expected.push_back(source ? values[offset_of(in, *source)] : value);
  }
  check_op(f, {x}, out, expected, {.float32_tolerance = 1e-6});
}

TEST_CASE("reshape, ravel, expand_dims, squeeze") {
  const Tensor x = random_tensor({2, 3, 4});
  const auto values = to_doubles(x);
  check_op([](const Inputs& in) { return ops::reshape(in[0], {4, 6}); }, {x}, {4, 6}, values);
  check_op([](const Inputs& in) { return ops::reshape(in[0], {2, -1}); }, {x}, {2, 12}, values);
  check_op([](const Inputs& in) { return ops::ravel(in[0]); }, {x}, {24}, values);
  check_op([](const Inputs& in) { return ops::expand_dims(in[0], -1); }, {x}, {2, 3, 4, 1}, values);
  check_op(
      [](const Inputs& in) {
        return ops::expand_dims(in[0], {0, 2});
      },
      {x}, {1, 2, 1, 3, 4}, values);
  const Tensor y = ops::reshape(x, {1, 6, 1, 4});
  check_op([](const Inputs& in) { return ops::squeeze(in[0]); }, {y}, {6, 4}, values);
  check_op([](const Inputs& in) { return ops::squeeze(in[0], -2); }, {y}, {1, 6, 4}, values);
  const Tensor empty = Tensor::empty({0, 4}, DType::Float32);
  check_values(ops::reshape(empty, {0, 7}), {0, 7}, {});
  check_values(ops::reshape(empty, {-1, 7}), {0, 7}, {});
  check_values(ops::reshape(empty, {0, -1}), {0, 4}, {});
  check_values(ops::reshape(Tensor::empty({0, 6, 4}, DType::Float32), {0, -1, 2, 3}), {0, 4, 2, 3},
               {});
  CHECK(message_of([&] {
          ops::reshape(empty, {0, -1, 3});
        }) == "reshape: expected a shape of 0 elements, as (0, 4) has, got (0, None, 3).");
  CHECK(message_of([&] {
          ops::reshape(empty, {0, 0, -1});
        }) == "reshape: expected a shape of 0 elements, as (0, 4) has, got (0, 0, None).");
}

TEST_CASE("transpose, swapaxes, moveaxis") {
  check_moved([](const Inputs& in) { return ops::transpose(in[0]); }, {2, 3, 4}, {4, 3, 2},
              [](const Place& p) {
                return Place{p[2], p[1], p[0]};
              });
  check_moved(
      [](const Inputs& in) {
        return ops::transpose(in[0], {1, -1, 0});
      },
      {2, 3, 4}, {3, 4, 2},
      [](const Place& p) {
        return Place{p[2], p[0], p[1]};
      });
  check_moved([](const Inputs& in) { return ops::swapaxes(in[0], 0, -1); }, {2, 3, 4}, {4, 3, 2},
              [](const Place& p) {
                return Place{p[2], p[1], p[0]};
              });
  check_moved([](const Inputs& in) { return ops::moveaxis(in[0], -1, 0); }, {2, 3, 4}, {4, 2, 3},
              [](const Place& p) {
                return Place{p[1], p[2], p[0]};
              });
}

TEST_CASE("broadcast_to, tile, repeat") {
  check_moved(
      [](const Inputs& in) {
        return ops::broadcast_to(in[0], {2, 4, 3});
      },
      {4, 1}, {2, 4, 3},
      [](const Place& p) {
        return Place{p[1], 0};
      });
  check_moved(
      [](const Inputs& in) {
        return ops::tile(in[0], {2, 3});
      },
      {2, 2}, {4, 6},
      [](const Place& p) {
        return Place{p[0] % 2, p[1] % 2};
      });
  check_moved([](const Inputs& in) { return ops::tile(in[0], {2}); }, {2, 2}, {2, 4},
              [](const Place& p) {
                return Place{p[0], p[1] % 2};
              });
  check_moved(
      [](const Inputs& in) {
        return ops::tile(in[0], {2, 1, 1});
      },
      {3}, {2, 1, 3}, [](const Place& p) { return Place{p[2]}; });
  check_moved([](const Inputs& in) { return ops::repeat(in[0], 3, 0); }, {2, 2}, {6, 2},
              [](const Place& p) {
                return Place{p[0] / 3, p[1]};
              });
  check_moved([](const Inputs& in) { return ops::repeat(in[0], 2); }, {2, 2}, {8},
              [](const Place& p) {
                return Place{p[0] / 4, p[0] / 2 % 2};
              });
}

TEST_CASE("concatenate, stack, unstack, split") {
  const Tensor a = random_tensor({2, 2}, -2, 2, 1);
  const Tensor b = random_tensor({2, 3}, -2, 2, 2);
  const auto va = to_doubles(a);
  const auto vb = to_doubles(b);
  check_op(
      [](const Inputs& in) {
        return ops::concatenate({in[0], in[1]}, -1);
      },
      {a, b}, {2, 5}, {va[0], va[1], vb[0], vb[1], vb[2], va[2], va[3], vb[3], vb[4], vb[5]});
  const Tensor c = random_tensor({2, 2}, -2, 2, 3);
  const auto vc = to_doubles(c);
  check_op(
      [](const Inputs& in) {
        return ops::stack({in[0], in[1]}, 1);
      },
      {a, c}, {2, 2, 2}, {va[0], va[1], vc[0], vc[1], va[2], va[3], vc[2], vc[3]});
  const auto rows = ops::unstack(b);
  REQUIRE(rows.size() == 2);
  check_values(rows[1], {3}, {vb[3], vb[4], vb[5]});
  check_gradients([](const Inputs& in) { return ops::unstack(in[0], 1)[1]; }, {b});
  const auto halves = ops::split(random_tensor({4, 2}), 2);
  REQUIRE(halves.size() == 2);
  CHECK(halves[1].shape() == Shape{2, 2});
  const auto parts = ops::split(b, {1, 1}, -1);
  REQUIRE(parts.size() == 3);
  check_values(parts[0], {2, 1}, {vb[0], vb[3]});
  check_values(parts[1], {2, 0}, {});
  check_values(parts[2], {2, 2}, {vb[1], vb[2], vb[4], vb[5]});
}

TEST_CASE("slice with strides, slice_axis") {
  check_moved(
      [](const Inputs& in) {
        return ops::slice(in[0], {1, 0}, {2, 3});
      },
      {4, 5}, {2, 3},
      [](const Place& p) {
        return Place{p[0] + 1, p[1]};
      });
  check_moved(
      [](const Inputs& in) {
        return ops::slice(in[0], {1, 0}, {-1, -1}, {2, 3});
      },
      {6, 7}, {3, 3},
      [](const Place& p) {
        return Place{1 + 2 * p[0], 3 * p[1]};
      });
  check_moved(
      [](const Inputs& in) {
        return ops::slice(in[0], {5, 1}, {-1, 2}, {1, 2});
      },
      {6, 4}, {1, 2},
      [](const Place& p) {
        return Place{5, 1 + 2 * p[1]};
      });
  check_moved([](const Inputs& in) { return ops::slice_axis(in[0], -1, 1, -1); }, {2, 5}, {2, 3},
              [](const Place& p) {
                return Place{p[0], p[1] + 1};
              });
  check_moved([](const Inputs& in) { return ops::slice_axis(in[0], 0, 1); }, {3, 2}, {2, 2},
              [](const Place& p) {
                return Place{p[0] + 1, p[1]};
              });
  check_moved(
      [](const Inputs& in) {
        return ops::slice(in[0], {2, 0}, {0, 2});
      },
      {2, 2}, {0, 2}, [](const Place& p) { return p; });
}

TEST_CASE("pad: value, gradients of tensor and padding value") {
  check_moved(
      [](const Inputs& in) {
        return ops::pad(in[0], {{1, 0}, {2, 1}}, 7);
      },
      {2, 3}, {3, 6},
      [](const Place& p) -> std::optional<Place> {
        if (p[0] < 1 || p[1] < 2 || p[1] > 4) return std::nullopt;
        return Place{p[0] - 1, p[1] - 2};
      },
      7);
  check_gradients(
      [](const Inputs& in) {
        return ops::pad(in[0], {{1, 2}}, in[1]);
      },
      {random_tensor({3}), Tensor::scalar(0.5)});
}

TEST_CASE("pad by mirrored elements") {
  const auto reflect = [](const Inputs& in) {
    return ops::pad(in[0], {{0, 0}, {2, 1}}, {.mode = "reflect"});
  };
  const auto symmetric = [](const Inputs& in) {
    return ops::pad(in[0], {{1, 0}, {0, 3}}, {.mode = "symmetric"});
  };
  const Tensor x = random_tensor({2, 3});
  const auto v = to_doubles(x);
  check_op(reflect, {x}, {2, 6},
           {v[2], v[1], v[0], v[1], v[2], v[1], v[5], v[4], v[3], v[4], v[5], v[4]});
  check_op(symmetric, {x}, {3, 6},
           {v[0], v[1], v[2], v[2], v[1], v[0], v[0], v[1], v[2], v[2], v[1], v[0],  //
            v[3], v[4], v[5], v[5], v[4], v[3]});
  check_values(ops::pad(x, {{0, 0}, {0, 1}}, {.mode = "constant", .constant_values = 7}), {2, 4},
               {v[0], v[1], v[2], 7, v[3], v[4], v[5], 7});
  CHECK(message_of<InvalidArgument>([&] {
          ops::pad(x, {{0, 0}, {0, 3}}, {.mode = "reflect"});
        }) ==
        "pad: expected from 0 to 2 elements to be mirrored at the ends of axis 1 of shape (2, 3) "
        "(mode \"reflect\"), got 0 and 3.");
  CHECK(message_of<InvalidArgument>([&] {
          ops::pad(x, {{0, 0}, {0, 3}}, {.mode = "wrap"});
        }) == "pad: expected mode \"constant\", \"reflect\" or \"symmetric\", got \"wrap\".");
}

TEST_CASE("concatenate joins along axis 0 unless told otherwise, as Keras's") {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  check_values(ops::concatenate({x, x}), {4, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
}

TEST_CASE("repeat with a number for each element") {
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
  check_values(ops::repeat(x, std::vector<int64_t>{0, 3}, 1), {2, 3}, {2, 2, 2, 4, 4, 4});
  check_values(ops::repeat(x, std::vector<int64_t>{1, 0, 2, 1}), {4}, {1, 3, 3, 4});
  CHECK(message_of<InvalidArgument>([&] {
          ops::repeat(x, std::vector<int64_t>{1, 2, 3}, 0);
        }) ==
        "repeat: expected one number, or 2 numbers from 0 for axis 0 of shape (2, 2), got (1, 2, "
        "3).");
}

TEST_CASE("eye: columns and diagonals") {
  check_values(ops::eye(2, {.m = 3, .k = 1}), {2, 3}, {0, 1, 0, 0, 0, 1});
  check_values(ops::eye(3, {.m = 2, .k = -1, .dtype = DType::Int32}), {3, 2}, {0, 0, 1, 0, 0, 1});
}

TEST_CASE("flip") {
  check_moved([](const Inputs& in) { return ops::flip(in[0], 1); }, {2, 3}, {2, 3},
              [](const Place& p) {
                return Place{p[0], 2 - p[1]};
              });
  check_moved([](const Inputs& in) { return ops::flip(in[0]); }, {2, 3}, {2, 3},
              [](const Place& p) {
                return Place{1 - p[0], 2 - p[1]};
              });
}

TEST_CASE("tensors made of a rule") {
  check_values(ops::zeros({2, 2}), {2, 2}, {0, 0, 0, 0});
  check_values(ops::ones({2}, DType::Int64), {2}, {1, 1});
  CHECK(ops::full({2}, 1.5).dtype() == DType::Float32);
  CHECK(ops::full({2}, 7).dtype() == DType::Float32);
  CHECK(ops::full({2}, Tensor::scalar(int64_t{7})).dtype() == DType::Float32);
  check_values(ops::full({2}, 7, DType::UInt8), {2}, {7, 7});
  check_values(ops::full({0, 2}, 7), {0, 2}, {});
  check_values(ops::full({}, 2.5f), {}, {2.5});
  const Tensor x = random_tensor({2, 1});
  CHECK(ops::zeros_like(x).dtype() == DType::Float64);
  check_values(ops::ones_like(x, DType::Int32), {2, 1}, {1, 1});
  check_values(ops::full_like(x, 3), {2, 1}, {3, 3});
  check_values(ops::arange(4), {4}, {0, 1, 2, 3});
  check_values(ops::arange(2, 9, 3), {3}, {2, 5, 8});
  check_values(ops::arange(5, 0, -2), {3}, {5, 3, 1});
  check_values(ops::arange(3, 3), {0}, {});
  CHECK(ops::arange(3, DType::Float32).dtype() == DType::Float32);
  check_values(ops::eye(2), {2, 2}, {1, 0, 0, 1});
  check_gradients(
      [](const Inputs& in) {
        return ops::full({2, 3}, in[0], in[0].dtype());
      },
      {Tensor::scalar(2.0)});
  check_compiled([](const Inputs& in) { return in[0] + ops::arange(3, DType::Float64); },
                 {random_tensor({3})});
}

TEST_CASE("rearranging keeps every dtype") {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    INFO(to_string(dtype));
    const Tensor x = ops::cast(ops::reshape(ops::arange(6), {2, 3}), dtype);
    auto bits = [&](std::vector<double> values) {
      for (double& value : values) value = dtype == DType::Bool ? value != 0 : value;
      return values;
    };
    check_values(ops::transpose(x), {3, 2}, bits({0, 3, 1, 4, 2, 5}));
    check_values(ops::concatenate({x, x}, 0), {4, 3}, bits({0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
    check_values(ops::flip(x, 1), {2, 3}, bits({2, 1, 0, 5, 4, 3}));
    check_values(ops::slice_axis(x, 1, 1), {2, 2}, bits({1, 2, 4, 5}));
    check_values(ops::pad(x, {{0, 0}, {1, 0}}), {2, 4}, bits({0, 0, 1, 2, 0, 3, 4, 5}));
    check_values(ops::tile(x, {1, 2}), {2, 6}, bits({0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
    check_values(ops::take(x, Tensor::from(std::vector<int32_t>{1}), 0), {1, 3}, bits({3, 4, 5}));
    check_values(ops::zeros_like(x), {2, 3}, {0, 0, 0, 0, 0, 0});
  }
}

}  // namespace
}  // namespace cornu::testing
