// SPDX-License-Identifier: Apache-2.0
// Computations that depend only on variables that aren't written: folded into weights, and computed
// once for many runs.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <functional>
#include <thread>

#include "framework/backends/cpu/prepared_values.h"
#include "framework/core/variable_access.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/pass.h"
#include "tests/graph/count.h"

using namespace cornu;
using test::count;

namespace {

// Runs a graph over variables, unoptimized and after all passes.
Tensor run(const Graph& graph, const std::vector<Tensor>& inputs,
           const std::vector<Variable>& variables, bool optimize) {
  const auto executable = cpu_backend().compile(graph, {.optimize = optimize});
  Launch launch;
  launch.executable = executable.get();
  launch.inputs = inputs;
  launch.variables = variables;
  cpu_backend().run({&launch, 1});
  return launch.outputs.at(0);
}

Tensor noise(const Shape& shape, int seed) {
  return random::uniform(shape, {.minval = -1, .maxval = 1, .seed = seed});
}

void check_near(const Tensor& got, const Tensor& expected, double tolerance = 2e-5) {
  REQUIRE(got.shape() == expected.shape());
  const auto a = got.to_vector<float>();
  const auto b = expected.to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(tolerance));
}

// s * (conv(x, w) + b) + t.
const char* const kConvScaled =
    "graph(%0: float32[2,9,9,4])"
    " state(%1 \"w\": float32[3,3,{in},8] -> %1) state(%2 \"b\": float32[8] -> %2)"
    " state(%3 \"s\": float32[8] -> %3) state(%4 \"t\": float32[8] -> %4) {\n"
    "  %5 = conv(%0, %1) {dilation=[1,1], groups={groups}, padding=[1,1,1,1], strides=[2,2]}"
    " : float32[2,5,5,8]\n"
    "  %6 = add(%2, %5) : float32[2,5,5,8]\n"
    "  %7 = multiply(%3, %6) : float32[2,5,5,8]\n"
    "  %8 = add(%7, %4) : float32[2,5,5,8]\n"
    "  return %8\n"
    "}";

Graph conv_scaled(int groups) {
  std::string text = kConvScaled;
  const auto set = [&](const std::string& name, int value) {
    text.replace(text.find(name), name.size(), std::to_string(value));
  };
  set("{in}", 4 / groups);
  set("{groups}", groups);
  return parse_graph(text);
}

}  // namespace

TEST_CASE("factors of output channels move into the weights of convolutions") {
  for (const int groups : {1, 2, 4}) {
    CAPTURE(groups);
    const Graph graph = conv_scaled(groups);
    const Graph folded = passes::fold_scales(graph);
    for (const Node& node : folded.nodes) {
      if (node.is("multiply")) CHECK(folded.type(node.outputs[0]).shape != Shape{2, 5, 5, 8});
    }
    const std::vector<Variable> variables = {Variable(noise({3, 3, 4 / groups, 8}, 1)),
                                             Variable(noise({8}, 2)), Variable(noise({8}, 3)),
                                             Variable(noise({8}, 4))};
    const Tensor x = noise({2, 9, 9, 4}, 5);
    check_near(run(graph, {x}, variables, true), run(graph, {x}, variables, false));
  }
}

TEST_CASE("factors of output channels move into matrices, not into transposed ones") {
  for (const bool transposed : {false, true}) {
    CAPTURE(transposed);
    const Graph graph =
        parse_graph(std::string("graph(%0: float32[2,3,6]) state(%1 \"w\": ") +
                    (transposed ? "float32[6,6]" : "float32[6,5]") +
                    " -> %1) state(%2 \"s\": float32[" + (transposed ? "6" : "5") +
                    "] -> %2) {\n  %3 = matmul(%0, %1) {transpose_a=false, "
                    "transpose_b=" +
                    (transposed ? "true} : float32[2,3,6]" : "false} : float32[2,3,5]") +
                    "\n  %4 = multiply(%3, %2) : float32[2,3," + (transposed ? "6" : "5") +
                    "]\n  return %4\n}");
    const Graph folded = passes::fold_scales(graph);
    const Node& last = folded.nodes.back();
    CHECK(last.is(transposed ? "multiply" : "matmul"));
    const int64_t columns = transposed ? 6 : 5;
    const std::vector<Variable> variables = {Variable(noise({6, columns}, 1)),
                                             Variable(noise({columns}, 2))};
    const Tensor x = noise({2, 3, 6}, 3);
    check_near(run(graph, {x}, variables, true), run(graph, {x}, variables, false));
  }
}

TEST_CASE("what the graph writes, or reads elsewhere, isn't folded") {
  const auto products = [](const std::string& state, const std::string& returned) {
    return passes::fold_scales(
        parse_graph("graph(%0: float32[2,6]) state(%1 \"w\": float32[6,5] -> " + state +
                    ") state(%2 \"s\": float32[5] -> %2) {\n"
                    "  %3 = matmul(%0, %1) {transpose_a=false, transpose_b=false} : float32[2,5]\n"
                    "  %4 = multiply(%3, %2) : float32[2,5]\n"
                    "  %5 = negate(%1) : float32[6,5]\n"
                    "  return " +
                    returned + "\n}"));
  };
  CHECK(products("%1", "%4").nodes.back().is("matmul"));
  CHECK(count(products("%5", "%4"), "multiply") == 1);
  CHECK(products("%5", "%4").type(products("%5", "%4").outputs[0]).shape == Shape{2, 5});
  const Graph read_twice = products("%1", "%3, %4");
  CHECK(read_twice.nodes.back().is("multiply"));
}

TEST_CASE("what is made of unwritten variables becomes a graph of its own") {
  const Graph graph = parse_graph(
      "graph(%0: float32[4,64]) state(%1 \"w\": float32[64,64] -> %1)"
      " state(%2 \"n\": float32[64,64] -> %6) {\n"
      "  %3 = exp(%1) : float32[64,64]\n"
      "  %4 = reshape(%1) {shape=[4096]} : float32[4096]\n"
      "  %5 = constant() {value=<float32[] 1.0>} : float32[]\n"
      "  %6 = add(%2, %5) : float32[64,64]\n"
      "  %7 = matmul(%0, %3) {transpose_a=false, transpose_b=false} : float32[4,64]\n"
      "  return %7, %4, %3\n"
      "}");
  const auto split = passes::split_prepared(graph);
  REQUIRE(split);
  CHECK(split->prepare.outputs == std::vector<ValueId>{3});
  CHECK(split->prepare.nodes.size() == 1);
  CHECK(split->rest.inputs == std::vector<ValueId>{0, 3});
  CHECK(count(split->rest, "exp") == 0);
  CHECK(count(split->rest, "reshape") == 1);  // a view of the variable
  CHECK(count(split->rest, "add") == 1);
}

TEST_CASE("what is small, grows much, checks values or depends on nothing stays") {
  const auto splits = [](const std::string& body) {
    return passes::split_prepared(
               parse_graph("graph(%0: float32[4,64]) state(%1 \"w\": float32[64,64] -> %1)"
                           " state(%2 \"i\": int32[512] -> %2) {\n" +
                           body + "\n}"))
        .has_value();
  };
  CHECK(splits("  %3 = exp(%1) : float32[64,64]\n  return %3"));
  CHECK_FALSE(
      splits("  %3 = reduce_sum(%1) {axes=[0,1], keepdims=false} : float32[]\n  return %3"));
  CHECK_FALSE(
      splits("  %3 = broadcast_to(%1) {shape=[99,64,64]} : float32[99,64,64]\n"
             "  return %3"));
  CHECK_FALSE(
      splits("  %3 = broadcast_to(%1) {shape=[99,64,64]} : float32[99,64,64]\n"
             "  %4 = exp(%3) : float32[99,64,64]\n  return %4"));
  CHECK_FALSE(
      splits("  %3 = concatenate(%1, %1, %1, %1, %1) {axis=0} : float32[320,64]\n"
             "  %4 = exp(%3) : float32[320,64]\n  return %4"));
  CHECK(
      splits("  %3 = broadcast_to(%1) {shape=[99,64,64]} : float32[99,64,64]\n"
             "  %4 = reduce_sum(%3) {axes=[0], keepdims=false} : float32[64,64]\n  return %4"));
  CHECK_FALSE(splits("  %3 = gather(%1, %2) {axis=0} : float32[512,64]\n  return %3"));
  CHECK_FALSE(
      splits("  %3 = iota() {shape=[64,64], axis=0, dtype=float32} : float32[64,64]\n"
             "  return %3"));
  CHECK_FALSE(splits("  %3 = exp(%0) : float32[4,64]\n  return %3"));
}

TEST_CASE("prepared values are computed again when a variable has changed") {
  cpu::PreparedValues prepared(parse_graph(
      "graph() state(%0 \"w\": float32[300] -> %0) state(%1 \"unread\": float32[2] -> %1) {\n"
      "  %2 = square(%0) : float32[300]\n"
      "  return %2\n"
      "}"));
  const Variable w(ops::ones({300}));
  const Variable unread(ops::ones({2}));
  const auto values = [&](const Variable& of) {
    const Tensor value = of.stored();
    void* states[] = {const_cast<std::byte*>(value.raw()), nullptr};
    const Variable both[] = {of, unread};
    return prepared.of(both, states, [&](size_t i) { return both[i].version(); });
  };
  const auto first = values(w);
  CHECK(first->at(0).to_vector<float>() == std::vector<float>(300, 1));
  unread.assign(ops::zeros({2}));
  CHECK(values(w) == first);
  w.assign(ops::full({300}, 3));
  const auto second = values(w);
  CHECK(second->at(0).to_vector<float>() == std::vector<float>(300, 9));
  CHECK(first->at(0).to_vector<float>() == std::vector<float>(300, 1));
  // The results for other variables, as in other replicas, are kept as well.
  const Variable other(ops::full({300}, 2.0f));
  const auto third = values(other);
  CHECK(third->at(0).to_vector<float>()[7] == 4);
  CHECK(values(w) == second);
  CHECK(values(other) == third);
  for (int i = 0; i < 100; ++i) values(Variable(ops::ones({300})));
  CHECK(values(w)->at(0).to_vector<float>() == std::vector<float>(300, 9));
}

TEST_CASE("values of memory that was assigned anew meanwhile aren't those of the new value") {
  cpu::PreparedValues prepared(
      parse_graph("graph() state(%0 \"w\": float32[300] -> %0) {\n"
                  "  %1 = square(%0) : float32[300]\n"
                  "  return %1\n"
                  "}"));
  const Variable w(ops::ones({300}));
  const auto values = [&](const std::function<void()>& meanwhile) {
    VariableAccess access;
    access.add(w, false);
    access.acquire();
    meanwhile();
    void* states[] = {access.memory(0)};
    return prepared.of({&w, 1}, states, [&](size_t i) { return access.version(i); });
  };
  const auto overtaken = values([&] { w.assign(ops::full({300}, 3.0f)); });
  CHECK(overtaken->at(0).to_vector<float>() == std::vector<float>(300, 1));
  CHECK(values([] {})->at(0).to_vector<float>() == std::vector<float>(300, 9));
}

TEST_CASE("a model with normalization predicts what it did, also after training and loading") {
  set_random_seed(1);
  Model model =
      Sequential(Input({.shape = {12, 12, 3}}),
                 {layers::Conv2D({.filters = 8, .kernel_size = 3, .padding = "same"}),
                  layers::BatchNormalization(), layers::ReLU({.max_value = 6}),
                  layers::DepthwiseConv2D({.kernel_size = 3, .use_bias = false}),
                  layers::BatchNormalization(), layers::ReLU({.max_value = 6}), layers::Flatten(),
                  layers::Dense({.units = 10}), layers::BatchNormalization()});
  const Tensor x = noise({5, 12, 12, 3}, 1);
  const Tensor y = noise({5, 10}, 2);
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const auto check_prediction = [&] {
    const Tensor expected = model(x);  // eagerly
    check_near(model.predict(x), expected, 1e-4);
    check_near(model.predict(x), expected, 1e-4);
  };
  check_prediction();
  for (int i = 0; i < 3; ++i) {
    model.fit(x, y, {.batch_size = 5, .epochs = 1, .verbose = 0});
    check_prediction();
  }
  auto weights = model.get_weights();
  for (Tensor& weight : weights) weight = ops::multiply(weight, Tensor(0.5f));
  model.set_weights(weights);
  check_prediction();

  // Concurrently from several threads.
  const Tensor expected = model(x);
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (Tensor& result : results) {
    threads.emplace_back([&] { result = model.predict_on_batch(x); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) check_near(result, expected, 1e-4);
}
