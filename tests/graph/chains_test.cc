// SPDX-License-Identifier: Apache-2.0
// Long chains: the time to compile them is linear in their length. If a pass looked at everything
// after each node again, these would take minutes, and if it recursed for each node, they would
// overflow the stack.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/graph/backend.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/trace.h"
#include "tests/graph/count.h"

using namespace cornu;

namespace {

constexpr int kLength = 50'000;

// Returns the result of a compiled function of two vectors, each filled with one value.
float value_of(const std::function<Tensor(const Tensor& x, const Tensor& y)>& body, float x,
               float y) {
  const Function compiled([&](const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
    return {body(inputs[0], inputs[1])};
  });
  const Tensor result = compiled.call({ops::full({8}, x), ops::full({8}, y)})[0];
  for (float element : result.to_vector<float>()) REQUIRE(element == result.to_vector<float>()[0]);
  return result.to_vector<float>()[0];
}

// Applies `step` to x this many times.
Tensor after(int steps, Tensor x, const std::function<Tensor(const Tensor& x)>& step) {
  for (int i = 0; i < steps; ++i) x = step(x);
  return x;
}

}  // namespace

TEST_CASE("a long chain of sums, with the chain as either operand, gives its sum") {
  const Tensor one = ops::ones({8});
  const float sum = 2 + kLength;
  CHECK(value_of(
            [&](const Tensor& x, const Tensor&) {
              return after(kLength, x, [&](const Tensor& t) { return t + one; });
            },
            2, 1) == sum);
  CHECK(value_of(
            [&](const Tensor& x, const Tensor& y) {
              return after(kLength, x, [&](const Tensor& t) { return y + t; });
            },
            2, 1) == sum);
}

TEST_CASE("a long chain whose links are read twice gives its value") {
  CHECK(value_of(
            [](const Tensor& x, const Tensor& y) {
              return after(kLength, x, [&](const Tensor& t) { return t + t; }) + y;
            },
            0, 3) == 3);
  CHECK(value_of(
            [](const Tensor& x, const Tensor&) {
              return after(kLength, x, [](const Tensor& t) { return ops::relu(t); });
            },
            3, 1) == 3);
}

TEST_CASE("the gradient of a long chain of normalizations compiles") {
  // Each gradient could recompute the results of all later ones: passes only look at a limited
  // part.
  const auto body = [](const std::vector<Tensor>& inputs) {
    GradientTape tape;
    tape.watch(inputs[0]);
    const Tensor y = after(8000, inputs[0], [](const Tensor& t) { return ops::softmax(t); });
    return tape.gradient(ops::sum(ops::square(y)), std::vector<Tensor>{inputs[0]});
  };
  const Function compiled(body);
  const Tensor gradient = compiled.call({ops::ones({2, 8})})[0];
  for (float element : gradient.to_vector<float>()) CHECK(element == doctest::Approx(0));
}

TEST_CASE("a part that is doubled again and again isn't taken apart") {
  for (const int64_t size : {0, 2}) {  // 2^60 times the same part
    const auto body = [](const std::vector<Tensor>& inputs) -> std::vector<Tensor> {
      const auto padded = [&](size_t i, int64_t low, int64_t high) {
        return ops::pad(inputs[i], {{low, high}});
      };
      const Tensor many =
          after(60, padded(0, 0, 4 - inputs[0].shape()[0]), [](const Tensor& t) { return t + t; });
      return {many + padded(1, 0, 2) + padded(1, 2, 0)};
    };
    TracedGraph traced = trace({{DType::Float32, {size}}, {DType::Float32, {2}}}, body);
    CHECK(test::count(passes::join_parts(traced.graph), "add") == 62);
  }
}
