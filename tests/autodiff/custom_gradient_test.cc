// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

// log(1 + exp(x)), whose own gradient is NaN for large x.
Tensor log1pexp(const Tensor& x) {
  static const auto f = ops::custom_gradient([](const Tensor& in) {
    const Tensor e = ops::exp(in);
    return std::pair{ops::log(1 + e),
                     [e](const Tensor& upstream) { return upstream * (1 - 1 / (1 + e)); }};
  });
  return f(x);
}

// x, with its gradient multiplied by 100.
Tensor scaled(const Tensor& x) {
  return ops::custom_gradient([](const Tensor& in) {
    return std::pair{in * 1, [](const Tensor& upstream) { return upstream * 100; }};
  })(x);
}

Tensor gradient_of(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(Tensors(f(x)), x);
}

TEST_CASE("a custom gradient is used: eagerly, traced, and where the ops' own is NaN") {
  const Tensor x = Tensor::from(std::vector<float>{-1, 0, 100});
  check_values(gradient_of(log1pexp, x), {3}, {0.26894142, 0.5, 1}, 1e-6);
  check_values(gradient_of(scaled, x), {3}, {100, 100, 100});
  check_compiled([](const Inputs& in) { return gradient_of(log1pexp, in[0]); }, {x}, 1e-6);
  check_values(log1pexp(Tensor::scalar(0.0)), {}, {std::log(2.0)}, 1e-12);
  check_compiled([](const Inputs& in) { return log1pexp(in[0]); }, {random_tensor({3, 4})});
}

TEST_CASE("first and second order agree with differences, through what was captured") {
  check_gradients([](const Inputs& in) { return log1pexp(in[0]); }, {random_tensor({3, 4})});
  check_gradients([](const Inputs& in) { return log1pexp(in[0] * in[1]) * in[1]; },
                  {random_tensor({2, 3}), random_tensor({3}, -2, 2, 2)});
  // Compiled, up to the second order.
  check_compiled(
      [](const Inputs& in) {
        GradientTape outer;
        outer.watch(in[0]);
        const Tensor first = gradient_of(log1pexp, in[0]);
        return outer.gradient(Tensors(first), in[0]);
      },
      {random_tensor({4})});
}

TEST_CASE("several arguments and outputs; gradients that are left out") {
  const auto f = ops::custom_gradient([](const Tensor& a, const Tensor& b) {
    return std::pair{a * b, [=](const Tensor& upstream) {
                       return std::vector<Tensor>{upstream * b * 2, Tensor()};
                     }};
  });
  const Tensor a = random_tensor({2});
  const Tensor b = random_tensor({2}, -1, 1, 2);
  GradientTape tape;
  tape.watch(a);
  tape.watch(b);
  const auto gradients = tape.gradient(Tensors(f(a, b)), std::vector<Tensor>{a, b});
  check_same(gradients[0], b * 2, 1e-12);
  check_values(gradients[1], {2}, {0, 0});

  const auto two = ops::custom_gradient([](const Inputs& in) {
    return ops::WithGradient{{in[0] + 1, in[0] * 2}, [](const Inputs& upstream) {
                               return Inputs{upstream[0] * 10 + upstream[1]};
                             }};
  });
  GradientTape other;
  other.watch(a);
  const Inputs outputs = two({a});
  check_values(other.gradient(Tensors(outputs[1]), a), {2}, {1, 1});  // of the second output alone
}

TEST_CASE("within a branch of a traced cond") {
  const OpFunction f = [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor y = ops::cond(
        ops::sum(in[0]) > 0, [&] { return scaled(in[0]); }, [&] { return in[0] * 3; });
    return tape.gradient(Tensors(y), in[0]);
  };
  check_values(check_compiled(f, {ops::ones({2})}), {2}, {100, 100});
  check_values(check_compiled(f, {-ops::ones({2})}), {2}, {3, 3});
}

TEST_CASE("mistakes of custom gradients") {
  const Tensor x = ops::ones({2});
  const auto wrong_shape = ops::custom_gradient([](const Tensor& in) {
    return std::pair{in * 1, [](const Tensor& upstream) { return ops::sum(upstream); }};
  });
  CHECK(message_of<InvalidArgument>([&] { wrong_shape(x); }) ==
        "custom_gradient: expected a gradient of its argument's shape (2,), got () for argument "
        "0.");
  const auto too_few = ops::custom_gradient([](const Tensor& a, const Tensor& b) {
    return std::pair{a + b, [](const Tensor& upstream) { return upstream; }};
  });
  CHECK(message_of<InvalidArgument>([&] { too_few(x, x); }) ==
        "custom_gradient: expected one gradient for each of 2 arguments, got 1.");
  const Variable weight(ops::ones({2}), {.name = "w"});
  const auto reads = ops::custom_gradient([&](const Tensor& in) {
    return std::pair{in * weight, [](const Tensor& upstream) { return upstream; }};
  });
  CHECK(message_of<FailedPrecondition>([&] {
          reads(x);
        }).starts_with("custom_gradient: its function reads the trainable variable '"));
}

TEST_CASE("a custom gradient may have a tape of its own") {
  const auto cube = ops::custom_gradient([](const Tensor& x) {
    return std::pair{x * x * x, [x](const Tensor& upstream) {
                       GradientTape again;
                       again.watch(x);
                       const Tensor y = x * x * x;
                       return again.gradient(ops::sum(y * upstream), x);
                     }};
  });
  const auto slope = [&](const Tensor& a) {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = ops::sum(cube(a));
    return tape.gradient(y, a);
  };
  const Tensor a = ops::full({3}, 2.0);
  CHECK(slope(a).to_vector<float>() == std::vector<float>{12, 12, 12});
  CHECK(function(slope)(a).single().to_vector<float>() == std::vector<float>{12, 12, 12});
}

}  // namespace
}  // namespace cornu::testing
