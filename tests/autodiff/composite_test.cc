// SPDX-License-Identifier: Apache-2.0
// Gradients of composites that are computed at once, under tapes: their operands aren't small.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
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
using Composite = std::function<Tensor(const Inputs&)>;

Tensor numbers(const Shape& shape, double first) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    values.push_back(std::sin(first + static_cast<double>(7 * i)));
  }
  return Tensor::from(values, shape);
}

// The gradients of a weighted sum of f(inputs).
Inputs gradients_of(const Composite& f, const Inputs& inputs) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensor y = f(inputs);
  const Tensor weighted = ops::sum(y * numbers(y.shape(), 0.5));
  return tape.gradient(weighted, inputs, {.unconnected_gradients = UnconnectedGradients::Zero});
}

// The gradients of a sum of their squares.
Inputs second_gradients_of(const Composite& f, const Inputs& inputs) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  Tensor total = Tensor::scalar(0.0);
  for (const Tensor& gradient : gradients_of(f, inputs))
    total = total + ops::sum(ops::square(gradient));
  return tape.gradient(total, inputs, {.unconnected_gradients = UnconnectedGradients::Zero});
}

struct Case {
  std::string name;
  Composite f;
  Inputs inputs;
  bool is_elementwise = false;
};

std::vector<Case> cases() {
  const Tensor x = numbers({64, 16, 20}, 0.1);
  const Tensor vector = numbers({20}, 0.7);
  const Tensor positive = ops::square(numbers({20}, 0.3)) + 0.1;
  std::vector<Case> all;
  const auto elementwise = [&](const std::string& name, Tensor (*f)(const Tensor&)) {
    all.push_back({name, [f](const Inputs& in) { return f(in[0]); }, {x}, true});
  };
  elementwise("mish", ops::mish);
  elementwise("silu", ops::silu);
  elementwise("softplus", ops::softplus);
  elementwise("log_sigmoid", ops::log_sigmoid);
  elementwise("softsign", ops::softsign);
  elementwise("selu", ops::selu);
  elementwise("hard_silu", ops::hard_silu);
  elementwise("gelu by tanh", [](const Tensor& v) { return ops::gelu(v, true); });
  elementwise("gelu", [](const Tensor& v) { return ops::gelu(v, false); });
  elementwise("leaky_relu", [](const Tensor& v) { return ops::leaky_relu(v, 0.3); });
  elementwise("hard_shrink", [](const Tensor& v) { return ops::hard_shrink(v, 0.3); });
  elementwise("arctanh", [](const Tensor& v) { return ops::arctanh(v * 0.9); });
  elementwise("clip", [](const Tensor& v) { return ops::clip(v, -0.4, 0.7); });
  all.push_back({"clip between tensors",
                 [](const Inputs& in) { return ops::clip(in[0], -in[1], in[1]); },
                 {x, positive},
                 true});
  all.push_back(
      {"hypot", [](const Inputs& in) { return ops::hypot(in[0], in[1]); }, {x, vector}, true});
  all.push_back({"logaddexp",
                 [](const Inputs& in) { return ops::logaddexp(in[0], in[1]); },
                 {x, vector},
                 true});
  all.push_back({"layer_normalization",
                 [](const Inputs& in) {
                   return ops::layer_normalization(in[0], {.gamma = in[1], .beta = in[2]});
                 },
                 {x, vector, positive}});
  all.push_back({"rms_normalization",
                 [](const Inputs& in) { return ops::rms_normalization(in[0], {.scale = in[1]}); },
                 {x, vector}});
  all.push_back({"the mean alone",
                 [](const Inputs& in) {
                   return ops::moments(in[0], {0, 2}).first;
                 },
                 {x}});
  all.push_back({"the variance alone",
                 [](const Inputs& in) { return ops::moments(in[0], {-1}, true).second; },
                 {x}});
  all.push_back({"both moments",
                 [](const Inputs& in) {
                   const auto [mean, variance] = ops::moments(in[0], {0, 1});
                   return mean * variance;
                 },
                 {x}});
  all.push_back({"batch_normalization",
                 [](const Inputs& in) {
                   return ops::batch_normalization(in[0], in[1], ops::square(in[2]), -1,
                                                   {.offset = in[3], .scale = in[4]});
                 },
                 {x, vector, positive, numbers({20}, 2), numbers({20}, 3)}});
  all.push_back({"one vector for mean and variance",
                 [](const Inputs& in) { return ops::batch_normalization(in[0], in[1], in[1], 2); },
                 {x, positive}});
  all.push_back({"cdist",
                 [](const Inputs& in) { return ops::cdist(in[0], in[1]); },
                 {numbers({200, 60}, 1), numbers({120, 60}, 2)}});
  return all;
}

void check_close(const Inputs& values, const Inputs& expected) {
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    CHECK(values[i].shape() == expected[i].shape());
    const double size = 1 + ops::max(ops::abs(expected[i])).item<double>();
    CHECK(ops::max(ops::abs(values[i] - expected[i])).item<double>() <= 1e-12 * size);
  }
}

// What a function computes, whose trace contains all of the ops.
Inputs in_a_function(const std::function<Inputs(const Composite&, const Inputs&)>& of,
                     const Case& one) {
  return Function([&](const Inputs& in) { return of(one.f, in); }).call(one.inputs);
}

TEST_CASE("gradients of composites are those of their ops, on the first and on later calls") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const Inputs expected = in_a_function(gradients_of, one);
    const Inputs first = gradients_of(one.f, one.inputs);
    check_close(first, expected);
    for (int call = 0; call < 4; ++call) {
      const Inputs later = gradients_of(one.f, one.inputs);
      check_close(later, expected);
      for (size_t i = 0; i < later.size(); ++i) {
        CHECK(later[i].to_vector<double>() == first[i].to_vector<double>());
      }
    }
  }
}

// Gradients are added up in the order of the tape's records.
TEST_CASE("a sum of a composite's gradient and others has the same bits on all calls") {
  const Tensor x = ops::cast(numbers({40000}, 0.3), DType::Float32);
  for (const auto& f : {ops::silu, ops::mish, ops::softsign, ops::hard_silu}) {
    std::vector<float> first;
    for (int call = 0; call < 5; ++call) {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = x + f(x) + ops::sin(x);
      const auto gradient = tape.gradient(ops::sum(y * y), x).to_vector<float>();
      if (first.empty()) first = gradient;
      CHECK(gradient == first);
    }
  }
}

TEST_CASE("what a composite doesn't depend on has no gradient, on any call") {
  const Tensor x = numbers({900, 20}, 1);
  const auto second_is_defined = [&](const std::function<Tensor(const Tensor&)>& f) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = ops::sum(f(x));
    return outer.gradient(inner.gradient(y, x), x).defined();
  };
  for (int call = 0; call < 5; ++call) {
    CHECK_FALSE(second_is_defined([](const Tensor& v) { return ops::leaky_relu(v, 0.1); }));
    CHECK_FALSE(second_is_defined([](const Tensor& v) { return ops::moments(v, {0}).first; }));
    CHECK(second_is_defined([](const Tensor& v) { return ops::moments(v, {0}).second; }));
    CHECK(second_is_defined([](const Tensor& v) { return ops::silu(v); }));
  }
}

TEST_CASE("composites are differentiated twice") {
  for (const Case& one : cases()) {
    CAPTURE(one.name);
    const Inputs expected = in_a_function(second_gradients_of, one);
    for (int call = 0; call < 4; ++call) {
      check_close(second_gradients_of(one.f, one.inputs), expected);
    }
  }
}

TEST_CASE("a persistent tape differentiates a composite several times, by any of its operands") {
  const Tensor x = numbers({900, 20}, 1);
  const Tensor gamma = numbers({20}, 2);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(gamma);
  const Tensor y = ops::sum(ops::square(ops::layer_normalization(x, {.gamma = gamma})));
  const Inputs both = tape.gradient(y, Inputs{x, gamma});
  const Tensor of_gamma = tape.gradient(y, gamma);
  const Tensor of_x = tape.gradient(y, x);
  check_close({of_x, of_gamma}, both);
}

TEST_CASE("a gradient is taken in a trace, of a composite that was computed before it") {
  const Tensor x = numbers({900, 20}, 1);
  const auto f = [](const Inputs& in) { return ops::layer_normalization(in[0]); };
  const Inputs expected = gradients_of(f, {x});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = f({x});
  const Function gradient(
      [&](const Inputs& in) { return Inputs{tape.gradient(y, x, {.output_gradients = in[0]})}; });
  check_close(gradient.call({numbers(y.shape(), 0.5)}), expected);
}

}  // namespace
}  // namespace cornu::testing
