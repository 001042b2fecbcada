// SPDX-License-Identifier: Apache-2.0
// Loops in graphs: their text, what passes move out of them, and collectives within them.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "framework/graph/communicator.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/trace.h"
#include "framework/ops/collective.h"
#include "framework/ops/control.h"
#include "framework/ops/loops.h"
#include "tests/graph/count.h"

using namespace cornu;
using test::count;
using test::only;

namespace {

using Inputs = std::vector<Tensor>;
using Lists = std::pair<Inputs, Inputs>;

Graph graph_of(const std::vector<TensorType>& types,
               const std::function<Inputs(const Inputs&)>& body) {
  return trace(types, body).graph;
}

std::string message(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

// Doubles the values it reduces, and records how many there were.
class Recorder : public CollectiveGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(std::span<const Segment> segments, DType, ReduceOp) override {
    for (const Segment& segment : segments) {
      for (int64_t i = 0; i < segment.count; ++i) {
        static_cast<float*>(segment.out)[i] = 2 * static_cast<const float*>(segment.in)[i];
      }
      counts.push_back(segment.count);
    }
  }
  void reduce_scatter(const void*, void*, int64_t, DType, ReduceOp) override {}
  void all_gather(const void*, void*, size_t) override {}
  void broadcast(void*, size_t, int) override {}
  void barrier() override {}
  void abort(const std::string&) override {}

  std::vector<int64_t> counts;
};

Tensor summed_rows(const Tensor& xs) {
  return ops::map([](const Tensor& row) { return ops::all_reduce(row * row); }, xs);
}

}  // namespace

TEST_CASE("loops survive the text form") {
  const Graph graph = graph_of({{DType::Float32, {5, 3}}}, [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[0]);
    const auto [last, all] = ops::scan(
        [&](const Tensor& carry, const Tensor& x) {
          const Inputs grown = ops::while_loop(
              [](const Inputs& v) { return ops::sum(v[0]) < 3; },
              [](const Inputs& v) { return Inputs{v[0] * 2 + random::uniform({3})}; },
              {ops::abs(carry) + x}, 4);
          return std::pair{ops::sin(grown[0]), grown[0]};
        },
        ops::ones({3}), in[0], {.reverse = true});
    return Inputs{all, tape.gradient(ops::sum(last), in[0])};
  });
  const std::string text = graph.to_string();
  const Graph back = parse_graph(text);
  CHECK(back.to_string() == text);
  const Graph simple = passes::simplify(graph);
  simple.validate();
  CHECK(parse_graph(simple.to_string()).to_string() == simple.to_string());
  const auto run = [](Graph compiled) {
    const Tensor x = Tensor::from(std::vector<float>(15, 0.25F), {5, 3});
    const Tensor key = Tensor::from<uint32_t>({7, 11});
    const std::vector<Tensor> inputs = {x, key};
    const auto executable = cpu_backend().compile(std::move(compiled), {});
    Launch args{.executable = executable.get(),
                .device = {},
                .inputs = inputs,
                .variables = {},
                .outputs = {}};
    cpu_backend().run({&args, 1});
    return args.outputs[1].to_vector<float>();
  };
  CHECK(run(back) == run(graph));
}

TEST_CASE("text of loops that don't fit together is refused") {
  auto scan = [](const std::string& body, const std::string& numbers) {
    return message("graph(%0: float32[2], %1: float32[3,2]) {\n  %2 = scan(%0, %1) {body=graph(" +
                   body + "}, reverse=false, saves=false, " + numbers +
                   "} : float32[2]\n  return %2\n}");
  };
  const std::string fits =
      "%0: float32[2], %1: float32[2]) { %2 = add(%0, %1) : float32[2] return %2";
  CHECK(scan(fits, "carries=1, counted=false, length=3, xs=1") == "accepted");
  CHECK(scan(fits, "carries=3, counted=false, length=3, xs=1") ==
        "scan: expected a number of carries in [0, 2], got 3.");
  CHECK(scan(fits, "carries=1, counted=false, length=3, xs=-1") ==
        "scan: expected a number of xs in [0, 1], got -1.");
  CHECK(scan(fits, "carries=1, counted=false, length=-3, xs=1") ==
        "scan: expected a length of at least 0, got -3.");
  CHECK(scan(fits, "carries=1, counted=false, length=4, xs=1") ==
        "scan: expected xs of 4 slices along axis 0, got shape (3, 2).");
  CHECK(scan(fits, "carries=1, counted=true, length=3, xs=1") ==
        "scan: expected 3 operands, got 2.");
  CHECK(scan("%0: float32[2], %1: float32[3]) { return %0",
             "carries=1, counted=false, length=3, "
             "xs=1") ==
        "scan: its graph takes float32 (3,) as input 1, but it is given float32 (2,).");
  CHECK(scan("%0: float32[2], %1: float32[2]) { return ",
             "carries=1, counted=false, length=3, "
             "xs=1") == "scan: expected a body that gives 1 carries, got 0 outputs.");
  CHECK(scan("%0: float32[2], %1: float32[2]) state(%3 \"w\": float32[2] -> %3) { return %3",
             "carries=1, counted=false, length=3, xs=1") ==
        "scan: expected a graph without states, got one with 1.");
}

TEST_CASE("simplify takes from loops what nothing reads") {
  const Graph graph = graph_of(
      {{DType::Float32, {5, 3}}, {DType::Float32, {5}}, {DType::Float32, {3}}},
      [](const Inputs& in) {
        const auto [carries, ys] = ops::scan(
            [&](const Inputs& carry, const Inputs& x) {
              return Lists{{carry[0] + x[0], carry[1] * x[1], carry[2] + carry[1]},
                           {carry[0], carry[1] * in[2], ops::exp(x[0])}};
            },
            Inputs{in[2], Tensor::scalar(1.0F), Tensor::scalar(2.0F)}, Inputs{in[0], in[1]});
        return Inputs{ys[0]};
      });
  const Node& before = only(graph, "scan");
  CHECK(before.inputs.size() == 6);
  CHECK(before.outputs.size() == 6);
  const Graph simple = passes::simplify(graph);
  simple.validate();
  const Node& after = only(simple, "scan");
  CHECK(after.inputs.size() == 2);
  CHECK(after.outputs.size() == 2);
  CHECK(after.attributes.get_graph("body").nodes.size() == 1);
}

TEST_CASE("what no iteration changes is computed before the loop") {
  const Graph graph =
      graph_of({{DType::Float32, {5, 3}}, {DType::Float32, {3, 3}}}, [](const Inputs& in) {
        return Inputs{ops::map(
            [&](const Tensor& row) {
              return ops::matmul(row, ops::tanh(in[1]) * 2);  // and the row reshaped to a matrix
            },
            in[0])};
      });
  CHECK(only(graph, "tanh").outputs.size() == 1);
  const Graph& body = only(graph, "scan").attributes.get_graph("body");
  CHECK(only(body, "matmul").inputs.size() == 2);
  for (const Node& node : body.nodes) CHECK_FALSE(node.is("tanh"));
}

TEST_CASE("a sum of products, one a iteration, becomes one product after the loop") {
  const auto gradients = [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[1]);
    const Tensor ys = ops::scan(
                          [&](const Tensor& carry, const Tensor& x) {
                            const Tensor next = ops::tanh(ops::matmul(carry, in[1]) + x);
                            return std::pair{next, next};
                          },
                          ops::ones({4, 3}), in[0])
                          .second;
    return Inputs{tape.gradient(ops::sum(ys), in[1])};
  };
  for (const int64_t turns : {0, 2, 7}) {
    const Graph graph =
        graph_of({{DType::Float32, {turns, 4, 3}}, {DType::Float32, {3, 3}}}, gradients);
    const Graph simple = passes::simplify(graph);
    simple.validate();
    const Node& product = only(simple, "matmul");
    CHECK(simple.type(product.inputs[0]).shape == Shape{4 * turns, 3});
    CHECK(simple.type(product.inputs[1]).shape == Shape{4 * turns, 3});
    std::vector<float> numbers(static_cast<size_t>(turns) * 12);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1F * static_cast<float>(i % 7);
    const Tensor x = Tensor::from(numbers, {turns, 4, 3});
    const Tensor w = Tensor::from<float>({0.1F, 0.2F, 0.3F, -0.4F, 0.5F, -0.6F, 0.7F, 0.8F, 0.9F});
    const Inputs inputs = {x, ops::reshape(w, {3, 3})};
    const Function compiled(gradients, {});
    const auto expected = gradients(inputs)[0].to_vector<float>();
    const auto actual = compiled.call(inputs)[0].to_vector<float>();
    for (size_t i = 0; i < expected.size(); ++i) {
      CHECK(actual[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("a sum over what a loop stacks, one a iteration, becomes one sum after the loop") {
  const auto gradients = [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[1]);
    tape.watch(in[2]);
    const Tensor ys = ops::scan(
                          [&](const Tensor& carry, const Tensor& x) {
                            const Tensor next = ops::tanh(ops::matmul(carry, in[1]) + in[2] + x);
                            return std::pair{next, next};
                          },
                          ops::ones({4, 3}, DType::Float64), in[0])
                          .second;
    const auto all = tape.gradient(ops::sum(ops::square(ys)), Inputs{in[1], in[2]});
    return Inputs{all[0], all[1]};
  };
  for (const int64_t turns : {0, 1, 6}) {
    const Graph graph = passes::simplify(
        graph_of({{DType::Float64, {turns, 4, 3}}, {DType::Float64, {3, 3}}, {DType::Float64, {3}}},
                 gradients));
    graph.validate();
    for (const Node& node : graph.nodes) {
      if (node.is("scan")) CHECK(count(node.attributes.get_graph("body"), "reduce_sum") == 0);
    }
    std::vector<double> numbers(static_cast<size_t>(turns) * 12);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.1 * static_cast<double>(i % 7);
    const Inputs inputs = {Tensor::from(numbers, {turns, 4, 3}),
                           ops::reshape(ops::arange(9, DType::Float64) * 0.1 - 0.4, {3, 3}),
                           Tensor::from<double>({0.5, -0.25, 0.125})};
    const auto expected = gradients(inputs);
    const auto actual = Function(gradients, {}).call(inputs);
    for (size_t i = 0; i < 2; ++i) {
      const auto wanted = expected[i].to_vector<double>();
      const auto found = actual[i].to_vector<double>();
      for (size_t j = 0; j < wanted.size(); ++j) {
        CHECK(found[j] == doctest::Approx(wanted[j]).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("control flow that communicates says so, and is kept as often and where it is") {
  const Tensor zero = ops::zeros({});
  const Graph graph =
      graph_of({{DType::Float32, {2, 3}}, {DType::Float32, {3}}}, [&](const Inputs& in) {
        summed_rows(in[0]);
        summed_rows(in[0]);
        ops::cond(
            ops::sum(in[1]) > 0, [&] { return ops::all_reduce(in[1], "max"); },
            [&] { return in[1]; });
        ops::while_loop([](const Inputs& v) { return ops::all_reduce(ops::sum(v[0])) < 9; },
                        [](const Inputs& v) { return Inputs{v[0] + 1}; }, {in[1]});
        ops::map([](const Tensor& row) { return row * 2; }, in[0]);
        return Inputs{in[1] + ops::all_reduce(in[1])};
      });
  const std::vector<std::string> order = {
      "scan/body/all_reduce float32(3,)", "scan/body/all_reduce float32(3,)",
      "cond/then/all_reduce float32(3,)", "while/condition/all_reduce float32()",
      "all_reduce float32(3,)"};
  CHECK(passes::collective_order(graph) == order);
  const Graph simple = passes::simplify(graph);
  CHECK(passes::collective_order(simple) == order);
  size_t loops = 0;
  for (const Node& node : simple.nodes) loops += node.is("scan") ? 1 : 0;
  CHECK(loops == 2);  // the loop without collectives is gone
  CHECK(passes::collective_order(passes::fuse_elementwise(simple)) == order);
}

TEST_CASE("no group of fused nodes spans two collectives whose order it would change") {
  // `a` is an input of the first one, `b` uses the second one's result; both could be one node.
  const Graph graph =
      graph_of({{DType::Float32, {4}}, {DType::Float32, {4}}}, [](const Inputs& in) {
        const Tensor a = in[0] * 2;
        const Tensor first = ops::all_reduce(ops::reshape(a, {2, 2}), "max");
        const Tensor second = ops::all_reduce(in[1]);
        const Tensor b = a + second;
        return Inputs{first, b};
      });
  const std::vector<std::string> order = passes::collective_order(graph);
  CHECK(passes::collective_order(passes::fuse_elementwise(graph)) == order);
  CHECK(passes::collective_order(passes::fuse_elementwise(passes::simplify(graph))) == order);
}

TEST_CASE("sorting keeps collectives in their order") {
  Graph graph = parse_graph(
      "graph(%0: float32[2], %1: float32[3]) {\n"
      "  %2 = all_reduce(%0) {reduce=\"sum\"} : float32[2]\n"
      "  %3 = all_reduce(%1) {reduce=\"sum\"} : float32[3]\n"
      "  %4 = exp(%3) : float32[3]\n"
      "  return %4, %2\n"
      "}");
  std::rotate(graph.nodes.begin(), graph.nodes.end() - 1, graph.nodes.end());  // puts exp first
  passes::sort_topologically(graph);
  graph.validate();
  CHECK(graph.nodes[0].outputs[0] == 2);
  CHECK(graph.nodes[1].outputs[0] == 3);
}

TEST_CASE("collectives in loops, and in their gradients, reach the group of the run") {
  const Graph graph = graph_of({{DType::Float32, {2, 3}}}, [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor all = summed_rows(in[0]);
    return Inputs{all, tape.gradient(ops::sum(all), in[0])};
  });
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  for (const bool optimize : {false, true}) {
    Recorder group;
    const auto executable = cpu_backend().compile(graph, {.optimize = optimize});
    Launch args{.executable = executable.get(),
                .device = {},
                .inputs = {&x, 1},
                .variables = {},
                .outputs = {},
                .group = &group};
    cpu_backend().run({&args, 1});
    CHECK(group.counts == std::vector<int64_t>{3, 3, 3, 3});
    CHECK(args.outputs[0].to_vector<float>() == std::vector<float>{2, 8, 18, 32, 50, 72});
    CHECK(args.outputs[1].to_vector<float>() == std::vector<float>{4, 8, 12, 16, 20, 24});
  }
}
