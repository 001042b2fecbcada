// SPDX-License-Identifier: Apache-2.0
// RematScope and remat: gradients recompute values to save memory.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/graph/passes/pass.h"
#include "tests/graph/count.h"
#include "tests/support/errors.h"

using namespace cornu;
using test::count;

namespace {

std::vector<float> ramp(int64_t count) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(0.01f * static_cast<float>(i % 97) - 0.4f);
  return numbers;
}

// The traced graph of a function's gradient.
using Differentiable = std::function<Tensor(const Tensor&)>;
Graph gradient_graph(const Differentiable& f, const Tensor& x) {
  const Function gradient = function([f](const Tensor& of) {
    GradientTape tape;
    tape.watch(of);
    const Tensor y = ops::sum(f(of));
    return tape.gradient(y, of);
  });
  return gradient.compiled({x})->graph;
}

// The number of barriers in the gradient of a layer: one for each value that is kept for
// recomputation.
size_t barriers(const Differentiable& layer) {
  return count(gradient_graph(layer, Tensor::from(ramp(8), {2, 4})), "optimization_barrier");
}

// A residual block with two dense layers, dropout and normalization.
class Block : public Layer {
 public:
  explicit Block(int64_t units)
      : wide_(track(layers::Dense({.units = 4 * units, .activation = "gelu"}))),
        narrow_(track(layers::Dense({.units = units}))),
        dropout_(track(layers::Dropout({.rate = 0.2}))),
        norm_(track(layers::BatchNormalization())) {}
  Tensor call(const Tensor& x, const CallArgs& args) override {
    return norm_(x + dropout_(narrow_(wide_(x, args), args), args), args);
  }

 private:
  layers::Dense wide_, narrow_;
  layers::Dropout dropout_;
  layers::BatchNormalization norm_;
};

struct Trained {
  std::vector<double> losses;
  std::vector<Tensor> weights;
  size_t workspace = 0;
};

Trained train(const std::optional<std::string>& mode, int64_t depth) {
  set_random_seed(5);
  const RematScope scope({.mode = mode, .output_size_threshold = 100});
  Sequential model;
  for (int64_t i = 0; i < depth; ++i) model.add(make_layer<Block>(16));
  model.add(layers::Dense({.units = 3}));
  model.compile({.optimizer = optimizers::Adam(), .loss = "mse"});
  const Tensor x = Tensor::from(ramp(64 * 16), {64, 16});
  const Tensor y = Tensor::from(ramp(64 * 3), {64, 3});
  const auto history = model.fit(x, y, {.batch_size = 32, .epochs = 3, .verbose = 0});
  Trained trained{history.at("loss"), model.get_weights()};
  for (const CompileReport& report : model.compile_reports()) {
    trained.workspace = std::max(trained.workspace, report.workspace_bytes);
  }
  return trained;
}

}  // namespace

TEST_CASE("gradients compute a region's values once more, from what is kept") {
  const Tensor x = Tensor::from<float>({0.1f, -0.7f, 1.3f}, {3});
  const auto inner = [](const Tensor& of) { return ops::sin(ops::exp(of)); };
  const auto once = [&](const Tensor& of) { return ops::square(inner(of)); };
  const auto twice = [&](const Tensor& of) { return ops::square(remat(inner)(of)); };
  CHECK(count(gradient_graph(once, x), "exp") == 1);
  const Graph graph = gradient_graph(twice, x);
  CHECK(count(graph, "exp") == 2);
  CHECK(count(graph, "sin") == 1);  // the result of the region is kept
  CHECK(count(graph, "optimization_barrier") == 1);
  // The passes don't undo the recomputation.
  const Graph simple = passes::simplify(graph);
  CHECK(count(simple, "exp") == 2);
  CHECK(parse_graph(graph.to_string()).to_string() == graph.to_string());
  // Without a gradient, nothing is recomputed.
  CHECK(function(twice).compiled({x})->graph.to_string() ==
        function(once).compiled({x})->graph.to_string());
}

TEST_CASE("training with a RematScope: the same, but for sums' rounding, with less memory") {
  const Trained plain = train(std::nullopt, 6);
  // Not all backends report the memory of their programs.
  const bool tells = plain.workspace > 0;
  CHECK((tells || default_device().type != DeviceType::Cpu));
  for (const std::string mode : {"full", "activations", "larger_than"}) {
    CAPTURE(mode);
    const Trained trained = train(mode, 6);
    REQUIRE(trained.losses.size() == plain.losses.size());
    for (size_t i = 0; i < plain.losses.size(); ++i) {
      CHECK(trained.losses[i] == doctest::Approx(plain.losses[i]).epsilon(1e-6));
    }
    REQUIRE(trained.weights.size() == plain.weights.size());
    for (size_t i = 0; i < plain.weights.size(); ++i) {
      CHECK(ops::max(ops::abs(trained.weights[i] - plain.weights[i])).item<float>() <= 1e-6f);
    }
    if (!tells) continue;
    CHECK(trained.workspace < plain.workspace);
    if (mode != "activations") CHECK(trained.workspace * 2 < plain.workspace);
  }
}

TEST_CASE("each mode of a RematScope, and scopes within scopes") {
  const auto dense = [](const RematScopeOptions& options, const std::string& name = {}) {
    const RematScope scope(options);
    return layers::Dense({.units = 6, .activation = "gelu", .name = name});
  };
  const auto call = [](const layers::Dense& layer) {
    return barriers([layer](const Tensor& x) mutable { return layer(x); });
  };
  CHECK(call(dense({})) == 1);
  CHECK(call(dense({.mode = {}})) == 0);
  CHECK(call(dense({.mode = "activations"})) == 1);
  CHECK(call(dense({.mode = "larger_than", .output_size_threshold = 11})) == 1);
  CHECK(call(dense({.mode = "larger_than", .output_size_threshold = 12})) == 0);
  const RematScopeOptions listed{.mode = "list_of_layers", .layer_names = {"this", "that"}};
  CHECK(call(dense(listed, "that")) == 1);
  CHECK(call(dense(listed, "other")) == 0);

  const RematScope outer;
  CHECK(call(layers::Dense({.units = 6, .activation = "gelu"})) == 1);
  CHECK(call(dense({.mode = {}})) == 0);
  CHECK(call(layers::Dense({.units = 6, .activation = "gelu"})) == 1);
}

TEST_CASE("gradients of gradients, effects and nested regions") {
  const auto f = [](const Tensor& x) { return ops::exp(ops::sin(x)) * x; };
  const auto curvature = [](const Differentiable& of) {
    return function([of](const Tensor& x) {
             GradientTape outer;
             outer.watch(x);
             GradientTape inner;
             inner.watch(x);
             const Tensor first = inner.gradient(ops::sum(of(x)), x);
             return outer.gradient(ops::sum(first), x);
           })(Tensor::from<float>({0.3f, -1.1f}, {2}))
        .single()
        .to_vector<float>();
  };
  CHECK(curvature(remat(f)) == curvature(f));
  const auto nested = [&](const Tensor& x) { return remat(f)(ops::cos(x)); };
  CHECK(curvature(remat(nested)) == curvature(nested));
  const auto with_gradient = [](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = ops::sin(ops::exp(x));
    return tape.gradient(y, x) * y;
  };
  CHECK(curvature(remat(with_gradient)) == curvature(with_gradient));
  // A region that is used twice, and one that returns its argument.
  const auto again = [&](const Tensor& x) { return remat(f)(remat(f)(x)) + remat(f)(x); };
  const auto plain = [&](const Tensor& x) { return f(f(x)) + f(x); };
  CHECK(curvature(again) == curvature(plain));
  const auto same = [](const Tensor& x) { return x; };
  CHECK(curvature(remat([&](const Tensor& x) { return f(remat(same)(x)); })) == curvature(f));
}

TEST_CASE("a RematScope of an unknown mode") {
  CHECK(test::message_of<InvalidArgument>([] { const RematScope scope({.mode = "larger"}); }) ==
        "RematScope: unknown mode 'larger'. Did you mean 'larger_than'? Known: full, activations, "
        "larger_than, list_of_layers.");
  CHECK(RematScope::current() == nullptr);
}
