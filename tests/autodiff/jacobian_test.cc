// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

TEST_CASE("jacobian of a linear map is its matrix") {
  const Tensor matrix = random_tensor({3, 2});
  const Tensor x = random_tensor({2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::matmul(matrix, x);
  check_same(tape.jacobian(y, x), matrix, 1e-12);
}

TEST_CASE("jacobian of several sources, variables, and what isn't connected") {
  const Variable v(random_tensor({2}));
  const Variable unused(random_tensor({3}));
  const Tensor a = random_tensor({2, 2}, -1, 1, 3);
  GradientTape tape({.persistent = true});
  tape.watch(a);
  const Tensor y = ops::square(v.value()) + a;  // (2, 2)
  const std::vector<Tensor> of_tensors = tape.jacobian(y, std::vector<Tensor>{a});
  check_values(of_tensors[0], {2, 2, 2, 2}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  const std::vector<Tensor> of_variables =
      tape.jacobian(y, std::vector<Variable>{v, unused}, UnconnectedGradients::Zero);
  const auto twice = to_doubles(v.value() * 2);
  check_values(of_variables[0], {2, 2, 2}, {twice[0], 0, 0, twice[1], twice[0], 0, 0, twice[1]},
               1e-12);
  check_values(of_variables[1], {2, 2, 3}, std::vector<double>(12, 0));
  CHECK(!tape.jacobian(y, unused).defined());
  check_values(tape.jacobian(ops::slice_axis(y, 0, 0, 0), a), {0, 2, 2, 2}, {});
}

TEST_CASE("a hessian: the jacobian of a gradient") {
  const Tensor x = random_tensor({3}, 0.5, 2);
  GradientTape outer;
  outer.watch(x);
  Tensor gradient;
  {
    GradientTape inner;
    inner.watch(x);
    gradient = inner.gradient(Tensors(ops::prod(x)), x);
  }
  const auto v = to_doubles(x);
  check_values(outer.jacobian(gradient, x), {3, 3}, {0, v[2], v[1], v[2], 0, v[0], v[1], v[0], 0},
               1e-10);
}

TEST_CASE("batch_jacobian is the diagonal of the whole one, compiled too") {
  const Tensor x = random_tensor({3, 2});
  const Tensor weights = random_tensor({2, 4}, -1, 1, 7);
  const OpFunction rows = [&](const std::vector<Tensor>& in) {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor y = ops::tanh(ops::matmul(in[0], weights));
    return tape.batch_jacobian(y, in[0]);
  };
  const Tensor result = check_compiled(rows, {x}, 1e-12);
  REQUIRE(result.shape() == Shape{3, 4, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor whole = tape.jacobian(ops::tanh(ops::matmul(x, weights)), x);  // (3, 4, 3, 2)
  check_same(result, ops::einsum("bibj->bij", {whole}), 1e-12);
}

TEST_CASE("mistakes of jacobians") {
  const Tensor x = random_tensor({3, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::exp(x);
  CHECK(message_of<InvalidArgument>([&] { tape.batch_jacobian(ops::sum(y), x); }) ==
        "GradientTape: batch_jacobian expects a target and a source of one batch size (axis 0), "
        "got shapes () and (3, 2).");
  CHECK(tape.jacobian(y, x).shape() == Shape{3, 2, 3, 2});
  CHECK(message_of<FailedPrecondition>([&] { tape.jacobian(y, x); }) ==
        "GradientTape: its gradient was taken already. Make it persistent to take several.");
}

}  // namespace
}  // namespace cornu::testing
