// SPDX-License-Identifier: Apache-2.0
// The example of docs/adding/backend.md, compared with the CPU backend.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/strategy/in_process_group.h"
#include "tests/docs/reference_backend.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::distance;
using test::error_of;

namespace {

// Runs the graph that `f` is traced to on a backend.
std::vector<Tensor> run_on(Backend& backend, const Function& f, const std::vector<Tensor>& inputs) {
  const auto compiled = f.compiled(inputs);
  const auto executable = backend.compile(compiled->graph, {.name = "test"});
  Launch launch{.executable = executable.get(),
                .device = {},
                .inputs = inputs,
                .variables = compiled->variables,
                .outputs = {}};
  backend.run({&launch, 1});
  return launch.outputs;
}

// A gradient descent step on a linear model.
Function training_step(const Variable& w) {
  return function([=](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor difference = ops::matmul(x, w) - y;
    const Tensor loss = ops::sum(difference * difference);
    const Tensor gradient = ops::all_reduce(tape.gradient(loss, w));
    w.assign(w - 0.01 * gradient);
    return loss;
  });
}

}  // namespace

TEST_CASE("the same step on both backends") {
  example::ReferenceBackend reference;
  const Tensor x = test::some_values({6, 4}, 1);
  const Tensor y = test::some_values({6, 2}, 2);
  const Variable a(test::some_values({4, 2}, 3));
  const Variable b(a.value());
  for (int i = 0; i < 3; ++i) {
    const auto expected = run_on(cpu_backend(), training_step(a), {x, y});
    const auto got = run_on(reference, training_step(b), {x, y});
    CHECK(distance(got[0], expected[0]) < 1e-5);
    CHECK(distance(a, b) < 1e-5);
  }
}

TEST_CASE("operands are broadcast") {
  example::ReferenceBackend reference;
  const std::vector<Tensor> inputs = {test::some_values({3, 1}, 1), test::some_values({2}, 2)};
  const Function f = function([](const Tensor& x, const Tensor& y) {
    return std::vector<Tensor>{x + y, x - y, y * ops::broadcast_to(y, {3, 2}),
                               ops::sum(x * y, 1, true), ops::reshape(x + y, {2, 3})};
  });
  const auto expected = run_on(cpu_backend(), f, inputs);
  const auto got = run_on(reference, f, inputs);
  for (size_t i = 0; i < got.size(); ++i) CHECK(distance(got[i], expected[i]) < 1e-6);
}

TEST_CASE("what it has no kernel for is named, when compiling") {
  example::ReferenceBackend reference;
  const Function exponential = function([](const Tensor& x) { return ops::exp(x); });
  CHECK(error_of([&] { run_on(reference, exponential, {ops::ones({2})}); }) ==
        "Unimplemented: exp: the reference backend has no kernel for float32 (2,).");
  const Function sum = function([](const Tensor& x) { return x + x; });
  CHECK(error_of([&] { run_on(reference, sum, {ops::ones({2}, DType::Int32)}); }) ==
        "Unimplemented: add: the reference backend has no kernel for int32 (2,).");
}

TEST_CASE("two replicas, and one that fails") {
  example::ReferenceBackend reference;
  const Variable first(ops::zeros({1, 1}), {.name = "w"});
  const Variable second(ops::zeros({1, 1}), {.name = "w"});
  const Tensor inputs[] = {ops::ones({1, 1}), ops::ones({1, 1})};
  const Function step = training_step(first);
  const auto compiled = step.compiled({inputs[0], inputs[1]});
  const auto executable = reference.compile(compiled->graph, {});
  auto run = [&] {
    const auto group = make_in_process_group(2);
    std::vector<Launch> replicas(2);
    for (size_t i = 0; i < 2; ++i) {
      replicas[i].executable = executable.get();
      replicas[i].inputs = inputs;
      replicas[i].variables = std::span(i == 0 ? &first : &second, 1);
      replicas[i].group = group[i].get();
    }
    reference.run(replicas);
  };
  run();
  CHECK(first.value().item<float>() == doctest::Approx(0.04));
  CHECK(distance(first, second) == 0);
  second.poison("on purpose");
  CHECK_THROWS_AS(run(), FailedPrecondition);
  CHECK(first.value().item<float>() == doctest::Approx(0.04));  // unchanged
}
