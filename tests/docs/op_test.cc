// SPDX-License-Identifier: Apache-2.0
// The example of docs/adding/op.md. The CPU backend's kernel table is closed, so the kernel runs
// from a separate table here, and gradients are checked in the graph that they are traced to.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/graph/trace.h"
#include "tests/backends/kernel_run.h"
#include "tests/docs/diagonal.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

void ensure_diagonal() {
  static const bool registered = [] {
    ops::register_diagonal(OpRegistry::global());
    return true;
  }();
  CHECK(registered);
}

Graph traced(const Shape& shape, const std::function<Tensor(const Tensor&)>& f) {
  const std::vector<TensorType> types = {{DType::Float32, shape}};
  return trace(types, [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in[0])}; })
      .graph;
}

}  // namespace

TEST_CASE("shapes, and the mistakes that are told") {
  ensure_diagonal();
  const Graph graph = traced({5, 3, 3}, ops::main_diagonal);
  CHECK(graph.type(graph.outputs[0]) == TensorType{DType::Float32, {5, 3}});
  CHECK(
      test::error_of([] {
        traced({2, 3}, ops::main_diagonal);
      }) ==
      "InvalidArgument: main_diagonal: expected square matrices, got shape (2, 3). Cut them first, "
      "for example with ops::slice_axis.");
  CHECK_THROWS_AS(traced({3}, ops::main_diagonal), InvalidArgument);
}

TEST_CASE("the kernel") {
  ensure_diagonal();
  const cpu::testing::KernelRunner kernels(cpu::register_diagonal_kernels);
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const auto y = kernels.run("main_diagonal", {x}, {}, {{DType::Float32, {2, 2}}});
  CHECK(y[0].to_vector<float>() == std::vector<float>{1, 4, 5, 8});
  const Tensor none = Tensor::empty({3, 0, 0}, DType::Float32);
  CHECK(kernels.run("main_diagonal", {none}, {}, {{DType::Float32, {3, 0}}})[0].num_elements() ==
        0);
}

TEST_CASE("the gradient puts dy on the diagonal") {
  ensure_diagonal();
  const Graph graph = traced({2, 2}, [](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(ops::main_diagonal(x) * Tensor::from(std::vector<float>{3, 5}), x);
  });
  CHECK(graph.type(graph.outputs[0]).shape == Shape{2, 2});
  // The gradient doesn't need the op's value, so the CPU backend can run the graph.
  const auto executable = cpu_backend().compile(graph, {.name = "diagonal_gradient"});
  const Tensor x = ops::ones({2, 2});
  Launch replica;
  replica.executable = executable.get();
  replica.inputs = std::span(&x, 1);
  cpu_backend().run({&replica, 1});
  CHECK(replica.outputs[0].to_vector<float>() == std::vector<float>{3, 0, 0, 5});
}
