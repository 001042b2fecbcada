// SPDX-License-Identifier: Apache-2.0
#include "framework/autodiff/jvp.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

Tensor numbers(const Shape& shape, double first) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(std::cos(first + static_cast<double>(5 * i)));
  }
  return Tensor::from(values, shape);
}

// The change of f along the tangents is close to that of a small step, on values and in a function.
void check_direction(const std::string& name, const ops::internal::FunctionOfTensors& f,
                     const Inputs& primals) {
  CAPTURE(name);
  Inputs tangents;
  Inputs ahead;
  Inputs behind;
  constexpr double kStep = 1e-6;
  for (size_t i = 0; i < primals.size(); ++i) {
    tangents.push_back(numbers(primals[i].shape(), 3.0 + static_cast<double>(i)));
    ahead.push_back(primals[i] + tangents[i] * kStep);
    behind.push_back(primals[i] - tangents[i] * kStep);
  }
  const auto [outputs, changes] = ops::jvp(f, primals, tangents);
  const Inputs values = f(primals);
  const Inputs after = f(ahead);
  const Inputs before = f(behind);
  const Function compiled([&](const Inputs& in) { return ops::jvp(f, in, tangents).second; });
  const Inputs in_function = compiled.call(primals);
  REQUIRE(outputs.size() == values.size());
  REQUIRE(changes.size() == values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    check_same(outputs[i], values[i], 1e-12);
    check_same(changes[i], (after[i] - before[i]) / (2 * kStep), 1e-7);
    check_same(in_function[i], changes[i], 1e-12);
  }
}

TEST_CASE("jvp of one function is its derivative times the tangent") {
  const auto [y, change] = ops::jvp([](const Tensor& x) { return ops::sin(x); },
                                    Tensor::scalar(0.1), Tensor::scalar(0.2));
  CHECK(y.item<double>() == doctest::Approx(std::sin(0.1)));
  CHECK(change.item<double>() == doctest::Approx(0.2 * std::cos(0.1)));
}

TEST_CASE("jvp of generic and mutable functions, at -0") {
  const Tensor zero = Tensor::scalar(-0.0);
  const Tensor one = Tensor::scalar(1.0);
  const auto inverse = [](const auto& x) { return 1 / x; };
  CHECK(ops::jvp(inverse, zero, one).first.item<double>() < 0);
  const auto swapped = [](const auto& in) { return Inputs{in[1], in[0]}; };
  CHECK(ops::jvp(swapped, {zero, one}, {one, zero}).first[0].item<double>() == 1);
  const Inputs primals = {zero, one};
  CHECK(ops::jvp(swapped, primals, primals).second[0].item<double>() == 1);
  int calls = 0;
  const auto counted = [calls](const Tensor& x) mutable {
    return x * static_cast<double>(++calls);
  };
  CHECK(ops::jvp(counted, one, one).second.item<double>() == 1);
}

TEST_CASE("jvp: f gets a primal's mask") {
  const Tensor values = Tensor::from(std::vector<double>{2, -2});
  const Tensor x = values.with_mask(values > 0);
  const auto kept = [](const Tensor& v) { return ops::where(v.mask(), v, 0.0); };
  const auto [y, change] = ops::jvp(kept, x, ops::ones_like(x));
  CHECK(change.to_vector<double>() == std::vector<double>{1, 0});
}

TEST_CASE("jvp agrees with differences") {
  const Tensor x = numbers({3, 4}, 0.2);
  check_direction("products",
                  [](const Inputs& in) { return Inputs{ops::matmul(in[0], in[1]) * in[2]}; },
                  {x, numbers({4, 2}, 1), numbers({2}, 2)});
  check_direction("two outputs",
                  [](const Inputs& in) {
                    return Inputs{ops::exp(in[0]), ops::sum(in[1] * in[0])};
                  },
                  {x, numbers({4}, 1)});
  check_direction(
      "composites",
      [](const Inputs& in) {
        return Inputs{ops::gelu(ops::layer_normalization(in[0], {.gamma = in[1]}), false)};
      },
      {x, numbers({4}, 1)});
  check_direction("softmax", [](const Inputs& in) { return Inputs{ops::softmax(in[0])}; }, {x});
  check_direction(
      "conv",
      [](const Inputs& in) {
        return Inputs{ops::max_pool(ops::conv(in[0], in[1], {.padding = "same"}), {2, 2})};
      },
      {numbers({2, 4, 4, 3}, 1), numbers({3, 3, 3, 2}, 2)});
  check_direction("a loop",
                  [](const Inputs& in) {
                    const auto turn = [](const Tensor& carry, const Tensor& slice) {
                      const Tensor next = ops::tanh(carry * 0.5 + slice);
                      return std::pair(next, next);
                    };
                    return Inputs{ops::scan(turn, ops::zeros({4}, DType::Float64), in[0]).second};
                  },
                  {x});
}

TEST_CASE("jvp: captures are constants, and outputs that depend on no argument don't change") {
  const Tensor x = Tensor::scalar(3.0);
  const auto [outputs, changes] = ops::jvp(
      [&](const Inputs& in) {
        return Inputs{in[0] * x * in[1], ops::argmax(ops::stack({in[0], in[1]})), ops::exp(x)};
      },
      {x, x}, {Tensor::scalar(1.0), Tensor::scalar(10.0)});
  CHECK(changes[0].item<double>() == doctest::Approx(9 + 90));
  CHECK(changes[1].item<int64_t>() == 0);
  CHECK(changes[1].dtype() == outputs[1].dtype());
  CHECK(changes[2].item<double>() == 0);
}

TEST_CASE("jvp of jvp, and its gradient") {
  const Tensor x = Tensor::scalar(0.7);
  const Tensor one = Tensor::scalar(1.0);
  const auto first = [&](const Tensor& at) {
    return ops::jvp([](const Tensor& v) { return v * v * v; }, at, one).second;
  };
  CHECK(ops::jvp(first, x, one).second.item<double>() == doctest::Approx(6 * 0.7));
  GradientTape tape;
  tape.watch(x);
  CHECK(tape.gradient(first(x), x).item<double>() == doctest::Approx(6 * 0.7));
}

TEST_CASE("jvp: bad tangents") {
  const auto f = [](const Tensor& v) { return v; };
  const auto of = [&](const Tensor& primal, const Tensor& tangent) {
    return message_of<InvalidArgument>([&] { ops::jvp(f, primal, tangent); });
  };
  CHECK(
      of(ops::ones({2}), ops::ones({3})) ==
      "jvp: expected a tangent of its primal's shape (2,) and dtype float32, got (3,) and float32 "
      "at place 0.");
  CHECK(of(ops::ones({2}, DType::Int32), ops::ones({2}, DType::Int32)) ==
        "jvp: expected primals of floating-point dtypes, got int32 at place 0.");
  CHECK(of(ops::ones({2}), Tensor()) == "jvp: expected tensors, got an undefined one at place 0.");
  CHECK(message_of<InvalidArgument>([] {
          ops::jvp([](const Inputs& in) { return in; }, {ops::ones({2})}, Inputs{});
        }) == "jvp: expected a tangent for each of 1 primals, got 0.");
}

}  // namespace
}  // namespace cornu::testing
