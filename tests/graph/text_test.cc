// SPDX-License-Identifier: Apache-2.0
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/graph/graph.h"
#include "framework/graph/portable.h"
#include "framework/graph/trace.h"

using namespace cornu;

TEST_CASE("a graph's text reads back to the same text") {
  const std::string text =
      "graph(%0: float32[2,3])\n"
      "  state(%1 \"w\": float32[3] -> %3) {\n"
      "  %2 = multiply(%0, %1) : float32[2,3]\n"
      "  %3 = reduce_sum(%2) {axes=[0], keepdims=false} : float32[3]\n"
      "  return %2\n"
      "}";
  CHECK(parse_graph(text).to_string() == text);
}

TEST_CASE("constants of all kinds survive the text form") {
  const TracedGraph traced = trace({{DType::Float32, {2}}}, [](const std::vector<Tensor>& in) {
    const Tensor large = Tensor::from(std::vector<float>(40, 0.1f), {40});
    const Tensor ints = Tensor::from(std::vector<int64_t>{-1, 1LL << 40});
    return std::vector<Tensor>{in[0] * 2.5f, large + 0.5f, ints * 3};
  });
  const std::string text = traced.graph.to_string();
  CHECK(parse_graph(text).to_string() == text);
}

TEST_CASE("large constants travel apart, those of branches and bodies, too") {
  const Tensor large = ops::reshape(ops::arange(20'000, DType::Float32), {20'000});
  const TracedGraph traced =
      trace({{DType::Float32, {20'000}}}, [&](const std::vector<Tensor>& in) {
        const Tensor chosen = ops::cond(
            ops::sum(in[0]) > 0, [&] { return in[0] + large; }, [&] { return large * 3 + in[0]; });
        const auto turned = ops::fori_loop(0, 3,
                                           [&](const Tensor&, const std::vector<Tensor>& vars) {
                                             return std::vector<Tensor>{vars[0] * (large + 1)};
                                           },
                                           {chosen});
        return std::vector<Tensor>{turned[0] - large};
      });
  const PortableGraph portable = to_portable(traced.graph);
  CHECK(portable.text.size() < 4096);
  CHECK(portable.constants.size() == 4);
  const Graph again = from_portable(portable);
  CHECK(to_portable(again).text == portable.text);
  const Tensor x = Tensor::from(std::vector<float>(20'000, 2.0f), {20'000});
  CHECK(replay(again, {x})[0].to_vector<float>() ==
        replay(traced.graph, {x})[0].to_vector<float>());
  // A constant of another type, and a missing constant.
  PortableGraph damaged = portable;
  damaged.constants[1] = Tensor::from({1, 2});
  CHECK_THROWS_AS(from_portable(damaged), InvalidArgument);
  damaged = portable;
  damaged.constants.pop_back();
  CHECK_THROWS_AS(from_portable(damaged), InvalidArgument);
}

TEST_CASE("text that is no graph is refused with its line") {
  auto message = [](const char* text) {
    try {
      parse_graph(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message("graph(%0: float32[2]) {\n  %1 = add(%0 %0) : float32[2]\n  return %1\n}") ==
        "Graph text, line 2: expected ')', got '%0) : float32[2]\n  r'.");
  CHECK(message("graph() {\n  %1 = ad(%0) : float32[2]\n return %1\n}")
            .find("Did you mean 'add' or 'pad'?") != std::string::npos);
  CHECK(message("graph(%0: float32[2]) { return %7 }").find("%7") != std::string::npos);
  // Inconsistent text is the text's mistake, not a bug in Cornu.
  CHECK_THROWS_AS(parse_graph("graph(%0: float32[2]) { %1 = exp(%0) : float32[3] return %1 }"),
                  InvalidArgument);
  CHECK_THROWS_AS(parse_graph("graph(%0: bool[]) { %1 = cond(%0) {then=graph() { return %9999 }, "
                              "else=graph() { return %9999 }} : float32[] return %1 }"),
                  InvalidArgument);
  for (const char* text :
       {"graph() { %0 = constant() {value=<string[2] 0x00ff>} : string[2] return %0 }",
        "graph(%0: string[]) { return %0 }"}) {
    CHECK(message(text).find("expected a dtype of numbers, which graphs are of, got '[") !=
          std::string::npos);
  }
  // The memory used stays in proportion to the text.
  CHECK(message("graph(%16777216: float32[2]) { return %16777216 }") ==
        "Graph text, line 1: expected smaller value ids, got ') { return %16777216'.");
  // Also for long texts: half a gigabyte of types would be out of proportion to two megabytes of
  // text.
  const std::string padded =
      "graph(%16777215: float32[]) { return %16777215 }" + std::string(size_t{2} << 20, ' ');
  CHECK(message(padded.c_str()).starts_with("Graph text, line 1: expected smaller value ids"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "graph() { %0 = cond() {then=";
  CHECK(message(deep.c_str()) == "Graph text: expected graphs nested at most 64 levels deep.");
}
