// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

void check_smooth(const OpFunction& f, const Inputs& inputs) {
  check_compiled(f, inputs, 1e-10);
  check_gradients(f, inputs);
}

TEST_CASE("fori_loop: by numbers with gradients, by tensors in a graph") {
  const auto power = [](const Inputs& in) {
    return ops::fori_loop(
        0, 3, [&](const Tensor&, const Tensor& value) { return value * in[0]; }, in[0]);
  };
  const Tensor x = random_tensor({3});
  check_same(power({x}), ops::power(x, 4.0), 1e-12);
  check_smooth(power, {x});
  const auto sums = [](const Inputs& in) {
    return ops::fori_loop(
        0, in[0], [](const Tensor& i, const Tensor& value) { return value + i; },
        Tensor::scalar(int32_t{0}));
  };
  const Tensor result = check_compiled(sums, {Tensor::scalar(int32_t{5})});
  CHECK(result.item<int>() == 10);
  CHECK(sums({Tensor::scalar(int32_t{-2})}).item<int>() == 0);
  const Inputs both = ops::fori_loop(
      1, 4,
      [](const Tensor& i, const Inputs& values) {
        return Inputs{values[0] + i, values[1] * i};
      },
      Inputs{Tensor::scalar(int32_t{0}), Tensor::scalar(int32_t{1})});
  CHECK(both[0].item<int>() == 6);
  CHECK(both[1].item<int>() == 6);
}

TEST_CASE("associative_scan of several tensors is a recurrence h = a h + b") {
  const ops::AssociativeFunction step = [](const std::vector<Tensor>& x,
                                           const std::vector<Tensor>& y) {
    return std::vector<Tensor>{y[0] * x[0], y[0] * x[1] + y[1]};
  };
  const Tensor a({1.0, 2.0, 3.0, 4.0, 5.0}), b({1.0, 1.0, 2.0, 0.0, 3.0});
  check_values(ops::associative_scan(step, {a, b})[1], {5}, {1, 3, 11, 44, 223});
  check_values(ops::associative_scan(step, {a, b}, true)[1], {5}, {78, 77, 38, 12, 3});
  const Tensor rows = ops::stack({b, b * 2}), factors = ops::stack({a, a});
  check_values(ops::associative_scan(step, {factors, rows}, false, -1)[1], {2, 5},
               {1, 3, 11, 44, 223, 2, 6, 22, 88, 446});
  CHECK(message_of<InvalidArgument>([&] {
          ops::associative_scan(step, {a, ops::ones({4})});
        }) ==
        "associative_scan: expected tensors of one size along axis 0, got shapes (5,) and (4,).");
  CHECK(message_of<InvalidArgument>([&] { ops::associative_scan(step, std::vector<Tensor>()); }) ==
        "associative_scan: expected at least one tensor, got none.");
  const ops::AssociativeFunction first = [](const auto& x, const auto&) {
    return std::vector<Tensor>{x[0]};
  };
  CHECK(message_of<InvalidArgument>([&] {
          ops::associative_scan(first, {a, b});
        }) == "associative_scan: expected a function that gives 2 tensors, as it is given, got 1.");
}

TEST_CASE("map, vectorized_map, scan, associative_scan") {
  const Tensor x = random_tensor({4, 3});
  check_smooth(
      [](const Inputs& in) {
        return ops::map([](const Tensor& row) { return ops::sum(row * row); }, in[0]);
      },
      {x});
  check_same(ops::vectorized_map([](const Tensor& row) { return row * 2; }, x), x * 2);
  const Inputs two = ops::map(
      [](const Inputs& rows) {
        return Inputs{rows[0] + rows[1], rows[0]};
      },
      Inputs{x, x});
  check_same(two[0], x * 2);
  check_same(two[1], x);
  for (const bool reverse : {false, true}) {
    const auto running = [=](const Inputs& in) {
      return ops::scan(
                 [](const Tensor& carry, const Tensor& row) {
                   const Tensor next = carry + row;
                   return std::pair{next, next};
                 },
                 ops::zeros({3}, DType::Float64), in[0], {.reverse = reverse})
          .second;
    };
    check_same(running({x}), ops::cumsum(x, 0, {.reverse = reverse}), 1e-12);
    check_smooth(running, {x});
    const auto associative = [=](const Inputs& in) {
      return ops::associative_scan([](const Tensor& a, const Tensor& b) { return a * b; }, in[0],
                                   reverse, 1);
    };
    check_smooth(associative, {x});
    if (!reverse) check_same(associative({x}), ops::cumprod(x, 1), 1e-12);
  }
  const auto counted = ops::scan(
      [](const Tensor& carry, const Tensor& none) {
        CHECK(!none.defined());
        return std::pair{carry * 2, Tensor()};
      },
      1.0F, Tensor(), {.length = 5});
  CHECK(counted.first.item<float>() == 32);
  CHECK(!counted.second.defined());
}

TEST_CASE("switch_: by value and traced") {
  const auto f = [](const Inputs& in) {
    return ops::switch_(
        in[0],
        {[](const Inputs& x) { return x[0] + 1; }, [](const Inputs& x) { return x[0] * 2; },
         [](const Inputs& x) { return -x[0]; }},
        {in[1]});
  };
  const Tensor x = Tensor::from(std::vector<float>{3, 4});
  const std::vector<std::pair<int32_t, std::vector<double>>> cases = {
      {-5, {4, 5}}, {0, {4, 5}}, {1, {6, 8}}, {2, {-3, -4}}, {9, {-3, -4}}};
  for (const auto& item : cases) {
    const int32_t index = item.first;
    CAPTURE(index);
    check_values(check_compiled(f, {Tensor::scalar(index), x}), {2}, item.second);
  }
}

TEST_CASE("images: gradients") {
  const Tensor images = random_tensor({1, 4, 5, 3});
  for (const bool antialias : {false, true}) {
    check_smooth(
        [=](const Inputs& in) {
          return ops::image::resize(in[0], {3, 7}, {.antialias = antialias});
        },
        {images});
  }
  check_smooth([](const Inputs& in) { return ops::image::rgb_to_grayscale(in[0]); }, {images});
  const Tensor transform = Tensor::from<float>({0.9, 0.2, -0.7, -0.1, 1.2, 0.4, 0.05, 0});
  for (const char* fill_mode : {"constant", "nearest", "wrap", "reflect"}) {
    check_smooth(
        [=](const Inputs& in) {
          return ops::image::affine_transform(in[0], transform, {.fill_mode = fill_mode});
        },
        {images});
  }
  check_smooth(
      [](const Inputs& in) {
        return ops::image::extract_patches(in[0], 2, {.strides = 1, .padding = "same"});
      },
      {images});
}

TEST_CASE("mistakes of loops and images") {
  const Tensor x = ops::ones({2, 3});
  const auto same = [](const Tensor& t) { return t; };
  CHECK(message_of<InvalidArgument>([&] {
          ops::map(same, ops::ones({0, 3}));
        }) == "map: expected at least one slice along axis 0, got shape (0, 3).");
  CHECK(message_of<InvalidArgument>([&] { ops::map(same, ops::ones({})); }) ==
        "map: expected tensors with slices along axis 0, got a scalar as tensor 0. Repeat it "
        "for every slice, or capture it in the function.");
  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)> all =
      [](const std::vector<Tensor>& given) { return given; };
  CHECK(message_of<InvalidArgument>([&] {
          ops::map(all, std::vector<Tensor>{x, ops::ones({4, 3})});
        }) ==
        "map: expected tensors of as many slices along axis 0, got 2 in tensor 0 (shape (2, "
        "3)) and 4 in tensor 1 (shape (4, 3)).");
  CHECK(message_of<InvalidArgument>([&] {
          ops::fori_loop(
              0.5, 2, [](const Tensor&, const Tensor& v) { return v; }, x);
        }) == "fori_loop: expected integers as bounds, got float32 () and int32 ().");
  CHECK(message_of<InvalidArgument>([&] {
          ops::switch_(x, {[](const Inputs& in) { return in[0]; }}, {x});
        }) == "switch_: expected an integer as index, got float32 (2, 3).");
  CHECK(message_of<InvalidArgument>([&] {
          ops::image::resize(x, {2, 2});
        }) ==
        "resize: expected images (height, width, channels) or (batch, height, width, channels), "
        "got shape (2, 3).");
  CHECK(message_of<InvalidArgument>([&] {
          ops::image::resize(ops::ones({2, 2, 1}), {2, 2}, {.interpolation = "bilinaer"});
        }) ==
        "resize: unknown interpolation 'bilinaer'. Did you mean 'bilinear'? Known: bilinear, "
        "nearest, bicubic, lanczos3, lanczos5.");
  CHECK(message_of<InvalidArgument>([&] {
          ops::image::extract_patches(ops::ones({2, 2, 1}), 3);
        }) ==
        "extract_patches: expected images of at least the patches' size (3, 3), got shape (2, "
        "2, 1).");
}

TEST_CASE("functions that are empty") {
  const Tensor x = ops::ones({2, 3});
  const auto refused = [](const std::function<void()>& f) {
    return message_of<InvalidArgument>(f);
  };
  const std::function<Tensor(const Tensor&)> of_one;
  const std::function<Tensor(const Tensor&, const Tensor&)> of_two;
  const std::function<Tensor()> of_none;
  CHECK(refused([&] { ops::map(of_one, x); }) == "map: expected a function, got an empty one.");
  CHECK(refused([&] { ops::vectorized_map(of_one, x); }) ==
        "map: expected a function, got an empty one.");
  CHECK(refused([&] { ops::fori_loop(0, 2, of_two, x); }) ==
        "fori_loop: expected a function, got an empty one.");
  CHECK(refused([&] { ops::associative_scan(of_two, x); }) ==
        "associative_scan: expected a function, got an empty one.");
  CHECK(refused([&] {
          ops::scan(std::function<std::pair<Tensor, Tensor>(const Tensor&, const Tensor&)>(), x, x);
        }) == "scan: expected a function, got an empty one.");
  // Of a branch that isn't chosen, too.
  const std::function<Tensor()> zero = [] { return Tensor(0); };
  CHECK(refused([&] { ops::cond(true, zero, of_none); }) ==
        "cond: expected a function, got an empty one.");
  using OfList = std::function<Tensor(const std::vector<Tensor>&)>;
  CHECK(refused([&] {
          ops::switch_(0, std::vector<OfList>{[](const auto& in) { return in[0]; }, nullptr}, {x});
        }) == "switch_: expected a function, got an empty one.");
  const ops::LoopBody same = [](const std::vector<Tensor>& values) { return values; };
  const ops::LoopCondition ends = [](const std::vector<Tensor>&) { return Tensor(false); };
  CHECK(refused([&] { ops::while_loop(nullptr, same, {x}); }) ==
        "while_loop: expected a function, got an empty one.");
  CHECK(refused([&] { ops::while_loop(ends, nullptr, {x}); }) ==
        "while_loop: expected a function, got an empty one.");
}

}  // namespace
}  // namespace cornu::testing
