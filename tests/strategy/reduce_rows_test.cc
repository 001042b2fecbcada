// SPDX-License-Identifier: Apache-2.0
// Sums over replicas of tables that are zero except for some rows: exchanged by rows, and whole.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <utility>

#include "framework/backends/cpu/passes/passes.h"
#include "framework/graph/backend.h"
#include "framework/strategy/in_process_group.h"
#include "tests/graph/count.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

using namespace cornu;
using test::count;

namespace {

// The kind of a rank's gradient of a table.
enum class Has { Nothing, Rows, Whole };

// A step on two tables, one of them of rank 3, and a small one. Gradients are integers, so all sums
// are exact.
struct Step {
  bool optimize = true;
  Has first = Has::Rows;
  Has second = Has::Rows;
  bool decays = false;  // whether the second table's update needs all of its rows
  int64_t indices = 7;

  std::string text() const {
    const std::string flat = "float32[2000,24]";
    const std::string deep = "float32[2000,4,6]";
    const auto own = [](Has part, const char* shape, const char* updates, const char* whole) {
      if (part == Has::Nothing) return fmt::format("broadcast_to(%9) {{shape={}}}", shape);
      if (part == Has::Whole) return fmt::format("negate({})", whole);
      return fmt::format("scatter_add(%3, {}) {{axis=0, shape={}}}", updates, shape);
    };
    return fmt::format(
        "graph(%3: int32[{0}], %4: float32[{0},24], %5: float32[{0},4,6], %6: {1}, %7: {2},"
        " %8: float32[5,2]) state(%0 \"first\": {1} -> %20) state(%1 \"second\": {2} -> %22)"
        " state(%2 \"accumulated\": {1} -> %18) {{\n"
        "  %9 = constant() {{value=<float32[] 0.0>}} : float32[]\n"
        "  %10 = {3} : {1}\n"
        "  %11 = {4} : {2}\n"
        "  %12, %13, %14 = all_reduce(%10, %11, %8) {{reduce=\"sum\", sparse=true}} : {1}, {2}, "
        "float32[5,2]\n"
        "  %17 = square(%12) : {1}\n"
        "  %18 = add(%2, %17) : {1}\n"
        "  %19 = multiply(%12, %12) : {1}\n"
        "  %20 = subtract(%0, %19) : {1}\n"
        "  %21 = square(%1) : {2}\n"
        "  %22 = subtract({5}, %13) : {2}\n"
        "  return %14\n}}",
        indices, flat, deep, own(first, "[2000,24]", "%4", "%6"),
        own(second, "[2000,4,6]", "%5", "%7"), decays ? "%21" : "%1");
  }
};

Graph rewritten(const Step& step) {
  Graph graph = cpu::update_rows(parse_graph(step.text()));
  graph.validate();
  return graph;
}

// The final values of each rank: its variables, and the outputs of its step.
using Results = std::vector<std::vector<Tensor>>;

Tensor whole_numbers(const Shape& shape, int64_t seed) {
  return ops::floor(random::uniform(shape, {.minval = -4, .maxval = 5, .seed = seed}));
}

// The ranks of a group, each with its own graph, inputs and variables.
class Ranks {
 public:
  void add(const std::string& text, bool optimize, std::vector<Tensor> inputs,
           std::vector<Variable> variables) {
    ranks_.push_back({cpu_backend().compile(parse_graph(text), {.optimize = optimize}),
                      std::move(inputs), std::move(variables)});
  }

  // Runs all ranks `times` times. Returns the final values of each rank: its variables and its
  // graph's outputs.
  Results run(int times) {
    const auto group = make_in_process_group(static_cast<int>(ranks_.size()));
    std::vector<Launch> launches;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      launches.push_back({.executable = ranks_[i].executable.get(),
                          .device = Device{DeviceType::Cpu, static_cast<int>(i)},
                          .inputs = ranks_[i].inputs,
                          .variables = ranks_[i].variables,
                          .outputs = {},
                          .group = group[i].get()});
    }
    for (int run = 0; run < times; ++run) {
      for (Launch& launch : launches) launch.outputs.clear();
      cpu_backend().run(launches);
    }
    Results results;
    for (size_t i = 0; i < ranks_.size(); ++i) {
      results.emplace_back();
      for (const Variable& variable : ranks_[i].variables) {
        results[i].push_back(variable.value());
      }
      results[i].push_back(launches[i].outputs.at(0));
    }
    return results;
  }

 private:
  struct Rank {
    std::unique_ptr<Executable> executable;
    std::vector<Tensor> inputs;
    std::vector<Variable> variables;
  };
  std::vector<Rank> ranks_;
};

// Runs each rank's step twice, on its own gradients.
Results run_ranks(const std::vector<Step>& steps) {
  Ranks ranks;
  for (const Step& step : steps) {
    const int64_t n = step.indices;
    const int64_t seed = 10 * (&step - steps.data());
    // Some rows are named by several ranks, and some twice by the same rank.
    const Tensor named = random::randint({n}, 0, n + 3, {.seed = seed});
    ranks.add(step.text(), step.optimize,
              {ops::cast(ops::mod(named * 37 - 5, 2000), "int32"), whole_numbers({n, 24}, seed + 1),
               whole_numbers({n, 4, 6}, seed + 2), whole_numbers({2000, 24}, seed + 3),
               whole_numbers({2000, 4, 6}, seed + 4), whole_numbers({5, 2}, seed + 5)},
              {Variable(whole_numbers({2000, 24}, 100)), Variable(whole_numbers({2000, 4, 6}, 101)),
               Variable(ops::ones({2000, 24}))});
  }
  return ranks.run(2);
}

void check_same_bits(const Results& a, const Results& b) {
  for (size_t rank = 0; rank < a.size(); ++rank) {
    for (size_t i = 0; i < a[rank].size(); ++i) {
      CAPTURE(rank);
      CAPTURE(i);
      REQUIRE(type_of(a[rank][i]) == type_of(b[rank][i]));
      CHECK(std::memcmp(a[rank][i].raw(), b[rank][i].raw(), type_of(a[rank][i]).bytes()) == 0);
    }
  }
}

std::vector<Step> unoptimized(std::vector<Step> steps) {
  for (Step& step : steps) step.optimize = false;
  return steps;
}

void check_like_whole(const std::vector<Step>& steps) {
  const Results rows = run_ranks(steps);
  check_same_bits(rows, run_ranks(unoptimized(steps)));
  check_same_bits(rows, Results(rows.size(), rows[0]));  // replicas stay equal
}

}  // namespace

TEST_CASE("of sparse sums over replicas, rows travel, and rows are updated") {
  const Graph graph = rewritten({});
  CHECK(count(graph, "scatter_add") == 0);
  CHECK(count(graph, "sum_rows") == 2);
  CHECK(test::only(graph, "all_reduce").inputs.size() == 1);  // the small one
  const Node& reduction = test::only(graph, "all_reduce_rows");
  CHECK(reduction.attributes.get_ints("whole") == std::vector<int64_t>{0, 0});
  CHECK(count(graph, "update_rows") == 2);

  // The exchange depends neither on a replica's kind of gradient nor on its updates.
  const std::pair<Step, size_t> others[] = {
      {{.first = Has::Nothing, .second = Has::Whole}, 1},
      {{.first = Has::Nothing, .decays = true}, 1},
      {{.first = Has::Whole, .decays = true}, 0},
      {{.indices = 550}, 0},  // rows are exchanged, which may be many in this case
      {{.indices = 900}, 0},
  };
  for (const auto& [step, updates] : others) {
    const Graph other = rewritten(step);
    CHECK(test::only(other, "all_reduce").inputs.size() == 1);
    CHECK_FALSE(test::only(other, "all_reduce").attributes.find("sparse"));
    CHECK(test::only(other, "all_reduce_rows").attributes.get_ints("shapes") ==
          reduction.attributes.get_ints("shapes"));
    CHECK(count(other, "update_rows") == updates);
  }
}

TEST_CASE("replicas with rows get the bits of whole tables") {
  for (const size_t ranks : {1, 2, 3, 5}) {
    for (const bool decays : {false, true}) {
      CAPTURE(ranks);
      CAPTURE(decays);
      check_like_whole(std::vector<Step>(ranks, {.decays = decays}));
      // More rows than are exchanged, and more than are updated at a time.
      check_like_whole(std::vector<Step>(ranks, {.decays = decays, .indices = 1200}));
      check_like_whole(std::vector<Step>(ranks, {.decays = decays, .indices = 400}));
    }
  }
}

TEST_CASE("replicas with nothing, few rows, many and all of them") {
  const Step few;
  const Step none = {.first = Has::Nothing, .second = Has::Nothing};
  const Step all = {.first = Has::Whole, .second = Has::Whole};
  for (const bool decays : {false, true}) {
    const auto with = [&](std::vector<Step> steps) {
      for (Step& step : steps) step.decays = decays;
      check_like_whole(steps);
    };
    with({few, none});
    with({none, few, none});
    with({none, none});
    with({few, all});
    with({all, none, few});
    with({few, {.indices = 1}, {.indices = 90}});
    with({few, {.indices = 1999}});
    with({few, {.indices = 0}});
    with({{.first = Has::Whole}, {.second = Has::Nothing}, {.second = Has::Whole}});
    with({{.second = Has::Nothing}, {.first = Has::Nothing}});
  }
}

TEST_CASE("replicas whose graphs no pass has seen take part") {
  for (const bool decays : {false, true}) {
    Step plain{.decays = decays};
    plain.optimize = false;
    const Step rows{.decays = decays};
    check_like_whole({plain, rows});
    check_like_whole({rows, plain, rows});
    check_like_whole({plain, plain});
  }
}

namespace {

// Two tables and their sums %8 and %9, from which `update` computes %20 and %21.
std::string text_of_two(const std::string& update) {
  const std::string table = "float32[2000,24]";
  return fmt::format(
      "graph(%2: int32[7], %3: float32[7,24], %4: float32[7,24]) state(%0 \"a\": {0} -> %20)"
      " state(%1 \"b\": {0} -> %21) {{\n"
      "  %6 = scatter_add(%2, %3) {{axis=0, shape=[2000,24]}} : {0}\n"
      "  %7 = scatter_add(%2, %4) {{axis=0, shape=[2000,24]}} : {0}\n"
      "  %8, %9 = all_reduce(%6, %7) {{reduce=\"sum\", sparse=true}} : {0}, {0}\n{1}"
      "  return %2\n}}",
      table, update);
}

// The final values of two ranks.
Results run_two(const std::string& text, bool optimize) {
  Ranks ranks;
  for (const int rank : {0, 1}) {
    ranks.add(text, optimize,
              {Tensor::from<int32_t>({3, 1, 7, 3, 9, rank, 11}, {7}),
               whole_numbers({7, 24}, 10 * rank + 1), whole_numbers({7, 24}, 10 * rank + 2)},
              {Variable(whole_numbers({2000, 24}, 100)), Variable(whole_numbers({2000, 24}, 101))});
  }
  return ranks.run(1);
}

}  // namespace

TEST_CASE("an update that needs several tables' sums, or what was made of another's") {
  const std::string table = " : float32[2000,24]\n";
  const std::string both = "  %10 = multiply(%8, %9)" + table + "  %20 = subtract(%0, %10)" +
                           table + "  %21 = subtract(%1, %9)" + table;
  const std::string crossed = "  %20 = subtract(%0, %8)" + table +
                              "  %11 = reduce_max(%20) {axes=[0,1], keepdims=false} : float32[]\n"
                              "  %12 = multiply(%9, %11)" +
                              table + "  %21 = subtract(%1, %12)" + table;
  const std::string apart = "  %20 = subtract(%0, %8)" + table + "  %21 = subtract(%1, %9)" + table;
  for (const std::string& update : {both, crossed, apart}) {
    CAPTURE(update);
    check_same_bits(run_two(text_of_two(update), true), run_two(text_of_two(update), false));
  }
  const auto updates = [](const std::string& update) {
    return count(cpu::update_rows(parse_graph(text_of_two(update))), "update_rows");
  };
  CHECK(updates(both) == 0);
  CHECK(updates(crossed) == 1);
  CHECK(updates(apart) == 2);
}

TEST_CASE("a replica that names a row which there isn't ends all of them") {
  const Variable first(ops::ones({2000, 24}));
  Ranks ranks;
  for (const int32_t row : {3, 2000}) {
    ranks.add(Step().text(), true,
              {ops::full({7}, row, DType::Int32), ops::ones({7, 24}), ops::ones({7, 4, 6}),
               ops::ones({2000, 24}), ops::ones({2000, 4, 6}), ops::ones({5, 2})},
              {row == 3 ? first : Variable(ops::ones({2000, 24})),
               Variable(ops::ones({2000, 4, 6})), Variable(ops::ones({2000, 24}))});
  }
  CHECK(testing::contains(test::message_of<OutOfRange>([&] { ranks.run(1); }),
                          "scatter_add: index 2000 is outside of [-2000, 2000)"));
  CHECK(ops::all(ops::equal(first.value(), 1.0)).item<bool>());
}
