// SPDX-License-Identifier: Apache-2.0
// Updates of only the rows that a gradient names, compared with updates of whole tables.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "framework/backends/cpu/passes/passes.h"
#include "framework/core/threads.h"
#include "framework/graph/backend.h"
#include "framework/graph/portable.h"
#include "framework/graph/program_recorder.h"
#include "tests/graph/count.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"

using namespace cornu;
using test::count;

namespace {

// A step that updates a table of `rows` rows and, for Adagrad, its accumulator.
struct Step {
  int64_t rows = 200;
  int64_t width = 3;
  std::string update;  // from the table %0, accumulator %1, rate %4 and gradient %5
  std::string ends;    // the final values of %0 and %1
  std::string returned = "%4";
  std::string dtype = "float32";

  std::string text(int64_t indices) const {
    const std::string table = fmt::format("{}[{},{}]", dtype, rows, width);
    std::string filled = fmt::format(
        "graph(%2: int32[{2}], %3: {0}[{2},{3}], %4: {0}[]) state(%0 \"table\": {1} -> {4})"
        " state(%1 \"accumulated\": {1} -> {5}) {{\n"
        "  %5 = scatter_add(%2, %3) {{axis=0, shape=[{6},{3}]}} : {1}\n",
        dtype, table, indices, width, ends.substr(0, ends.find(' ')),
        ends.substr(ends.find(' ') + 1), rows);
    std::string lines = update;
    for (size_t at = lines.find("TABLE"); at != std::string::npos; at = lines.find("TABLE")) {
      lines.replace(at, 5, table);
    }
    return filled + lines + "  return " + returned + "\n}";
  }
};

const Step kSgd = {.update =
                       "  %6 = multiply(%4, %5) : TABLE\n"
                       "  %7 = subtract(%0, %6) : TABLE\n",
                   .ends = "%7 %1"};
const Step kAdagrad = {.update =
                           "  %6 = square(%5) : TABLE\n"
                           "  %7 = add(%1, %6) : TABLE\n"
                           "  %8 = sqrt(%7) : TABLE\n"
                           "  %9 = multiply(%5, %4) : TABLE\n"
                           "  %10 = divide(%9, %8) : TABLE\n"
                           "  %11 = subtract(%0, %10) : TABLE\n",
                       .ends = "%11 %7"};

Graph rewritten(const Step& step, int64_t indices) {
  Graph graph = cpu::update_rows(parse_graph(step.text(indices)));
  graph.validate();
  return graph;
}

// The number of variables that a step updates by rows.
int64_t tables_of(const Step& step) {
  return test::only(rewritten(step, 7), "update_rows").attributes.get_int("tables");
}

// Runs a graph over variables the given number of times; returns the last result.
Tensor run_graph(const std::string& text, bool optimize, const std::vector<Tensor>& inputs,
                 const std::vector<Variable>& variables, int times = 1) {
  const auto executable = cpu_backend().compile(parse_graph(text), {.optimize = optimize});
  Launch launch;
  launch.executable = executable.get();
  launch.inputs = inputs;
  launch.variables = variables;
  for (int i = 0; i < times; ++i) cpu_backend().run({&launch, 1});
  return launch.outputs.at(0);
}

struct Run {
  std::vector<Variable> variables;
  Tensor returned;
};

Run run(const Step& step, const Tensor& indices, bool optimize) {
  const auto dtype = dtype_from_string(step.dtype);
  const auto noise = [&](const Shape& shape, int seed) {
    return ops::cast(random::uniform(shape, {.minval = 0.5, .maxval = 2, .seed = seed}), dtype);
  };
  const int64_t count = indices.shape()[0];
  Run result = {.variables = {Variable(noise({step.rows, step.width}, 1)),
                              Variable(noise({step.rows, step.width}, 2))},
                .returned = {}};
  result.returned =
      run_graph(step.text(count), optimize, {indices, noise({count, step.width}, 3), noise({}, 4)},
                result.variables, 2);
  return result;
}

void check_same_bits(const Tensor& a, const Tensor& b) {
  REQUIRE(type_of(a) == type_of(b));
  CHECK(std::memcmp(a.raw(), b.raw(), type_of(a).bytes()) == 0);
}

void check_like_whole(const Step& step, const Tensor& indices) {
  const Run rows = run(step, indices, true);
  Step plain = step;
  const bool half = is_half(dtype_from_string(step.dtype));
  if (half) plain.returned = "%5";  // fused as well, so that it rounds equally often
  const Run whole = run(plain, indices, half);
  for (size_t i = 0; i < 2; ++i) {
    check_same_bits(rows.variables[i].value(), whole.variables[i].value());
  }
  if (!half) check_same_bits(rows.returned, whole.returned);
}

Tensor numbers(std::vector<int32_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::from(values, {count});
}

}  // namespace

TEST_CASE("SGD and Adagrad touch the rows that a gradient names") {
  for (const Step* step : {&kSgd, &kAdagrad}) {
    const Graph graph = rewritten(*step, 7);
    CHECK(count(graph, "scatter_add") == 0);
    CHECK(graph.nodes.size() == 2);  // only the variables hold the table's rows
    CHECK(test::only(graph, "update_rows").attributes.get_int("tables") == (step == &kSgd ? 1 : 2));
    for (const ValueId id : test::only(graph, "sum_rows").outputs) {
      CHECK(graph.type(id).shape[0] == 7);
    }
    for (const std::string dtype : {"float32", "float64", "bfloat16", "float16"}) {
      Step typed = *step;
      typed.dtype = dtype;
      CAPTURE(dtype);
      check_like_whole(typed, numbers({3, 199, 3, 0, -1, 7, 3}));  // -1 is row 199
      check_like_whole(typed, numbers({4, 4, 4, 4, 4, 4, 4, 4, 4, 4}));
      check_like_whole(typed, numbers({9}));
    }
  }
}

TEST_CASE("rows of any width, many of them, on any number of threads") {
  std::mt19937 random(1);
  for (const int64_t width : {1, 2, 17, 300}) {
    Step step = kAdagrad;
    step.rows = 4001;
    step.width = width;
    std::vector<int32_t> named(width < 10 ? 100 : 1000);
    for (int32_t& row : named) row = static_cast<int32_t>(random() % 4001) - 2000;
    for (const int threads : {1, 2, 3}) {
      const ComputeThreadsScope scope(threads);
      CAPTURE(width);
      CAPTURE(threads);
      check_like_whole(step, numbers(named));
    }
  }
}

TEST_CASE("an index outside of the table is refused before anything is written") {
  const Variable table(ops::ones({200, 3}));
  const Variable accumulated(ops::ones({200, 3}));
  CHECK(test::message_of<OutOfRange>([&] {
          run_graph(kSgd.text(2), true, {numbers({1, 200}), ops::ones({2, 3}), Tensor(1.0f)},
                    {table, accumulated});
        }) ==
        "scatter_add: index 200 is outside of [-200, 200), axis 0 of shape (200, 3). Negative "
        "indices "
        "count from the end.");
  check_same_bits(table.value(), ops::ones({200, 3}));
}

TEST_CASE("what an update needs of other rows keeps it whole") {
  const auto stays = [](const Step& step, int64_t indices = 7) {
    const Graph graph = rewritten(step, indices);
    CHECK(count(graph, "scatter_add") == 1);
    CHECK(count(graph, "update_rows") == 0);
    check_like_whole(step, numbers(std::vector<int32_t>(static_cast<size_t>(indices), 2)));
  };
  stays(kSgd, 16);  // too many rows
  Step step = kSgd;
  step.returned = "%5";
  stays(step);  // the gradient is read elsewhere
  step.returned = "%6";
  stays(step);
  step.update = "  %6 = multiply(%0, %4) : TABLE\n  %7 = subtract(%6, %5) : TABLE\n";
  step.returned = "%4";
  stays(step);  // weight decay
  step.update =
      "  %6 = multiply(%1, %4) : TABLE\n  %8 = subtract(%6, %5) : TABLE\n"
      "  %7 = add(%0, %8) : TABLE\n";
  step.ends = "%7 %8";
  stays(step);  // a momentum changes even without gradients
  step.update = "  %6 = divide(%4, %5) : TABLE\n  %7 = subtract(%0, %6) : TABLE\n";
  step.ends = "%7 %1";
  stays(step);  // divides by zero
  step.update = "  %6 = subtract(%0, %5) : TABLE\n  %7 = abs(%6) : TABLE\n";
  stays(step);  // a later value depends on the updated variable
  step.update = "  %6 = subtract(%5, %0) : TABLE\n  %7 = add(%6, %0) : TABLE\n";
  stays(step);
  step.update =
      "  %6 = square(%5) : TABLE\n  %7 = add(%1, %6) : TABLE\n"
      "  %8 = reduce_max(%7) {axes=[0,1], keepdims=false} : float32[]\n"
      "  %9 = multiply(%5, %8) : TABLE\n  %10 = subtract(%0, %9) : TABLE\n";
  step.ends = "%10 %7";
  stays(step);  // the update of one table needs another whole table
}

TEST_CASE("values that are read from elsewhere are there whole") {
  Step step = kAdagrad;
  step.returned = "%11";  // the new value of the table
  CHECK(tables_of(step) == 2);
  check_like_whole(step, numbers({3, 199, 3, 0, -1, 7, 3}));
  step.returned = "%8";  // depends on the whole accumulator; the update reads its rows
  CHECK(tables_of(step) == 2);
  check_like_whole(step, numbers({3, 199, 3, 0, -1, 7, 3}));
  step = kSgd;
  step.returned = "%8";  // the old table, read after the update
  step.update += "  %8 = square(%0) : TABLE\n";
  CHECK(tables_of(step) == 1);
  check_like_whole(step, numbers({3, 199, 3, 0, -1, 7, 3}));
  step = kSgd;
  step.ends = "%0 %7";  // the new table is assigned to another variable
  check_like_whole(step, numbers({3, 199, 3, 0, -1, 7, 3}));
  step.ends = "%7 %7";
  check_like_whole(step, numbers({3, 199, 3, 0, -1, 7, 3}));
}

TEST_CASE("lookups of one table are summed up together, where they are of one kind") {
  const auto text = [](const char* second_index, bool decays) {
    return fmt::format(
        "graph(%1: int32[3], %2: float32[3,16], %3: {}[2,2], %4: float32[2,2,16])"
        " state(%0 \"table\": float32[64,16] -> %7) {{\n"
        "  %5 = scatter_add(%1, %2) {{axis=0, shape=[64,16]}} : float32[64,16]\n"
        "  %6 = scatter_add(%3, %4) {{axis=0, shape=[64,16]}} : float32[64,16]\n"
        "  %8 = add(%5, %6) : float32[64,16]\n"
        "  %9 = {} : float32[64,16]\n"
        "  %7 = subtract(%9, %8) : float32[64,16]\n"
        "  return %1\n"
        "}}",
        second_index, decays ? "square(%0)" : "add(%8, %0)");
  };
  const auto rewritten = [&](const char* second_index, bool decays) {
    Graph graph = cpu::update_rows(parse_graph(text(second_index, decays)));
    graph.validate();
    return graph;
  };
  const Graph joined = rewritten("int32", false);
  CHECK(count(joined, "scatter_add") == 0);
  CHECK(test::only(joined, "sum_rows").attributes.get_ints("shape") ==
        std::vector<int64_t>{64, 16});
  CHECK(count(joined, "update_rows") == 1);
  for (const Graph& whole : {rewritten("uint64", false), rewritten("int32", true)}) {
    CHECK(count(whole, "scatter_add") == 2);
    CHECK(count(whole, "update_rows") == 0);
  }
  const auto run_both = [&](bool optimize) {
    const Variable table(ops::reshape(ops::arange(0.0, 1024.0), {64, 16}));
    run_graph(text("int32", false), optimize,
              {numbers({5, 6, 5}), ops::reshape(ops::arange(0.0, 48.0), {3, 16}),
               Tensor::from<int32_t>({6, 7, -1, 5}, {2, 2}),
               ops::reshape(ops::arange(0.0, 64.0), {2, 2, 16})},
              {table});
    return table.value();
  };
  check_same_bits(run_both(true), run_both(false));
}

TEST_CASE("rows that are slices of the sums are updated by themselves") {
  const std::string text =
      "graph(%1: int32[4], %2: float32[4,16])"
      " state(%0 \"first\": float32[40,16] -> %6) state(%3 \"second\": float32[56,16] -> %8) {\n"
      "  %4 = scatter_add(%1, %2) {axis=0, shape=[96,16]} : float32[96,16]\n"
      "  %5 = slice(%4) {begin=[0,0], size=[40,16], strides=[1,1]} : float32[40,16]\n"
      "  %6 = subtract(%0, %5) : float32[40,16]\n"
      "  %7 = slice(%4) {begin=[40,0], size=[56,16], strides=[1,1]} : float32[56,16]\n"
      "  %8 = subtract(%3, %7) : float32[56,16]\n"
      "  return %1\n"
      "}";
  const Graph graph = cpu::update_rows(parse_graph(text));
  graph.validate();
  CHECK(count(graph, "scatter_add") == 0);
  CHECK(count(graph, "sum_rows") == 2);
  // All sums come before all writes: the second table's indices are checked before the first table
  // is changed.
  const auto last = [&](const char* op) {
    size_t place = 0;
    for (size_t i = 0; i < graph.nodes.size(); ++i) place = graph.nodes[i].is(op) ? i : place;
    return place;
  };
  CHECK(last("sum_rows") < last("update_rows") - 1);
  const Tensor updates = ops::reshape(ops::arange(0.0, 64.0), {4, 16});
  for (const auto& named : {numbers({39, 40, 95, 39}), numbers({-1, -57, 0, 0}),
                            numbers({3, 3, 3, 3}), numbers({41, 42, 43, 42})}) {
    const auto run_both = [&](bool optimize) {
      const std::vector<Variable> tables = {Variable(ops::ones({40, 16})),
                                            Variable(ops::ones({56, 16}))};
      run_graph(text, optimize, {named, updates}, tables);
      return tables;
    };
    const std::vector<Variable> rows = run_both(true);
    const std::vector<Variable> whole = run_both(false);
    for (size_t i = 0; i < 2; ++i) check_same_bits(rows[i].value(), whole[i].value());
  }
  CHECK(test::message_of<OutOfRange>([&] {
          run_graph(text, true, {numbers({0, 96, 0, 0}), updates},
                    {Variable(ops::ones({40, 16})), Variable(ops::ones({56, 16}))});
        }) ==
        "scatter_add: index 96 is outside of [-96, 96), axis 0 of shape (96, 16). Negative indices "
        "count from the end.");
}

TEST_CASE("a slice of the sums in another direction, or of columns, keeps them whole") {
  for (const std::string type : {"float32[48,16]", "float32[96,15]"}) {
    const std::string slice = type == "float32[48,16]"
                                  ? "{begin=[0,0], size=[48,16], strides=[2,1]}"
                                  : "{begin=[0,1], size=[96,15], strides=[1,1]}";
    const Graph graph = cpu::update_rows(parse_graph(
        "graph(%1: int32[4], %2: float32[4,16]) state(%0 \"table\": " + type + " -> %6) {\n" +
        "  %4 = scatter_add(%1, %2) {axis=0, shape=[96,16]} : float32[96,16]\n" +
        "  %5 = slice(%4) " + slice + " : " + type + "\n  %6 = subtract(%0, %5) : " + type +
        "\n  return %1\n}"));
    graph.validate();
    CHECK(count(graph, "scatter_add") == 1);
    CHECK(count(graph, "update_rows") == 0);
  }
}

TEST_CASE("ops of compiled graphs aren't taken from elsewhere") {
  run_graph(kSgd.text(2), true, {numbers({1, 2}), ops::ones({2, 3}), Tensor(1.0f)},
            {Variable(ops::ones({200, 3})), Variable(ops::ones({200, 3}))});  // creates them
  const std::string text =
      "graph(%0: float32[4,2], %1: int64[1]) {\n"
      "  %3 = gather_rows(%0, %1) {axis=0} : float32[1,2]\n"
      "  return %3\n"
      "}";
  CHECK(
      test::message_of([&] {
        from_portable({text, {}});
      }) ==
      "A graph that travels has ops that programs apply, got 'gather_rows', which compiling makes "
      "of such.");
  const std::string within =
      "graph(%0: float32[2]) {\n"
      "  %1 = fused(%0) {body=graph(%0: float32[2]) {\n"
      "    %1 = square(%0) : float32[2]\n"
      "    return %1\n"
      "  }} : float32[2]\n"
      "  return %1\n"
      "}";
  CHECK(testing::contains(test::message_of([&] { from_portable({within, {}}); }), "got 'fused'"));
}

TEST_CASE("embeddings are trained by rows, with the weights of a step that is run op by op") {
  const auto train = [](const char* optimizer, bool eagerly, size_t* by_rows) {
    set_random_seed(3);
    Sequential model({layers::Embedding({.input_dim = 50, .output_dim = 16}), layers::Flatten(),
                      layers::Dense({.units = 1})});
    model.compile({.optimizer = optimizer, .loss = "mse", .run_eagerly = eagerly});
    const Tensor x = Tensor::from<int32_t>({1, 7, 7, 3, 49, 1, 0, 2, 2, 2}, {5, 2});
    const Tensor y = ops::ones({5, 1});
    ProgramRecorder recorder;
    recorder.start();
    model.fit(x, y, {.batch_size = 5, .epochs = 3, .verbose = 0});
    recorder.stop();
    for (const ProgramRun& run : recorder.take()) {
      for (const auto& instruction : run.program->instructions) {
        *by_rows += instruction.op == "update_rows" ? 1 : 0;
      }
    }
    return model.get_weights();
  };
  for (const char* optimizer : {"sgd", "adagrad", "adam"}) {
    CAPTURE(optimizer);
    size_t by_rows = 0;
    size_t eager_rows = 0;
    const std::vector<Tensor> compiled = train(optimizer, false, &by_rows);
    const std::vector<Tensor> eager = train(optimizer, true, &eager_rows);
    CHECK(by_rows == (std::string_view(optimizer) == "adam" ? 0 : 3));
    CHECK(eager_rows == 0);
    check_same_bits(compiled[0], eager[0]);
  }
}
