// SPDX-License-Identifier: Apache-2.0
#include "framework/train/plot_model.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cornu/cornu.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::message_of;
using test::Scratch;

using Edges = std::set<std::pair<std::string, std::string>>;

// The graph in a DOT text: names of layers, and edges between them.
struct DotGraph {
  explicit DotGraph(const std::string& text) {
    static const std::regex node(R"((n\d+) \[label=<.*?<b>(.*?)</b> \((\w+)\))");
    static const std::regex edge(R"((n\d+) -> (n\d+))");
    for (std::sregex_iterator it(text.begin(), text.end(), node), end; it != end; ++it) {
      names[(*it)[1]] = (*it)[2];
    }
    for (std::sregex_iterator it(text.begin(), text.end(), edge), end; it != end; ++it) {
      edges.emplace(names.at((*it)[1]), names.at((*it)[2]));
    }
  }
  std::map<std::string, std::string> names;
  Edges edges;
};

Model two_branches() {
  clear_session();
  const Tensor left = Input({.shape = {4}, .name = "left"});
  const Tensor right = Input({.shape = {4}, .name = "right"});
  Sequential inner({Input({.shape = {4}}), layers::Dense({.units = 5, .name = "first"}),
                    layers::Dense({.units = 5, .activation = "tanh", .name = "last"})},
                   {.name = "inner"});
  const Tensor both = layers::Concatenate({.name = "both"})({inner(left), inner(right)});
  const Tensor out = layers::Dense({.units = 1, .name = "out"})(both);
  return Model(Tensors{left, right}, Tensors{out, both}, {.name = "branches"});
}

TEST_CASE("plot: nodes are the layers, edges what they give each other") {
  const Model model = two_branches();
  const DotGraph plain(model_to_dot(model));
  CHECK(plain.names.size() == 5);
  CHECK(plain.edges ==
        Edges{{"left", "inner"}, {"right", "inner"}, {"inner", "both"}, {"both", "out"}});
  const std::string text = model_to_dot(model, {.expand_nested = true});
  const DotGraph nested(text);
  CHECK(nested.edges == Edges{{"left", "first"},
                              {"right", "first"},
                              {"first", "last"},
                              {"last", "both"},
                              {"both", "out"}});
  CHECK(contains(text, "subgraph cluster_0 {\n    style=dashed;\n    label=<inner>;"));
}

TEST_CASE("plot: a Sequential model is a chain without its Input") {
  clear_session();
  const Sequential model({Input({.shape = {4}}), layers::Dense({.units = 3, .name = "a"}),
                          layers::ReLU({.name = "b"}), layers::Dense({.units = 2, .name = "c"})});
  for (const bool expand : {false, true}) {
    const DotGraph graph(model_to_dot(model, {.expand_nested = expand}));
    CHECK(graph.names.size() == 3);
    CHECK(graph.edges == Edges{{"a", "b"}, {"b", "c"}});
  }
}

TEST_CASE("plot: what is said about layers") {
  const Model model = two_branches();
  model.get_layer("out").get().set_trainable(false);
  const std::string text = model_to_dot(model, {.show_shapes = true,
                                                .show_dtype = true,
                                                .rankdir = "LR",
                                                .expand_nested = true,
                                                .dpi = 96,
                                                .show_layer_activations = true,
                                                .show_trainable = true,
                                                .splines = "curved"});
  CHECK(contains(text, "  rankdir=LR;\n  concentrate=true;\n  dpi=96;\n  splines=curved;\n"));
  CHECK(contains(text, "Input shape: <b>[(None, 5), (None, 5)]</b>"));
  CHECK(contains(text, "Output shape: <b>(None, 10)</b>"));
  CHECK(contains(text, "Output dtype: <b>float32</b>"));
  CHECK(contains(text, "Activation: <b>tanh</b>"));
  CHECK(contains(text, "<b>Non-trainable</b>"));
  CHECK(contains(text, "<b>Trainable</b>"));
  const std::string bare = model_to_dot(model, {.show_layer_names = false});
  CHECK(!contains(bare, "both"));
  CHECK(contains(bare, "<b>Concatenate</b>"));
}

TEST_CASE("plot: names are text, whatever stands in them") {
  clear_session();
  const std::string hostile = "x>];n9 [label=\"<IMG SRC='secret.png'>\" & \\N \n$(id)`";
  const Sequential model({Input({.shape = {4}}), layers::Dense({.units = 1, .name = hostile})},
                         {.name = "a\"<b>"});
  const std::string text = model_to_dot(model);
  CHECK(contains(text, "<b>x&gt;];n9 [label=&quot;&lt;IMG SRC=&#39;"));
  CHECK(!contains(text, "<IMG"));
  CHECK(contains(text, " &amp; "));
  CHECK(!contains(text, " \n$"));
  // The angle brackets of tags are balanced.
  CHECK(std::count(text.begin(), text.end(), '<') == std::count(text.begin(), text.end(), '>'));
}

TEST_CASE("plot: files") {
  const Scratch scratch;
  const Model model = two_branches();
  for (const char* name : {"m.dot", "m.gv"}) {
    plot_model(model, {.to_file = scratch.path(name), .show_layer_names = true});
    CHECK(test::contents(scratch.path(name)) == model_to_dot(model));
  }
  CHECK(message_of([&] { plot_model(model, {.to_file = "m.bmp"}); }) ==
        "plot_model: expected a file that ends in '.dot', '.gv', '.svg', '.png' or '.pdf', got "
        "'m.bmp'.");
  CHECK(message_of([&] { model_to_dot(model, {.rankdir = "UP];"}); }) ==
        "plot_model: expected a rankdir of TB, BT, LR, RL, got 'UP];'.");
  CHECK(message_of([&] { model_to_dot(model, {.dpi = 0}); }) ==
        "plot_model: expected a dpi of 1 to 10000, got 0.");
  CHECK(message_of([&] { model_to_dot(model, {.splines = "none"}); }) ==
        "plot_model: expected a splines of ortho, curved, polyline, spline, line, got 'none'.");
  const Sequential unbuilt({layers::Dense({.units = 1})}, {.name = "later"});
  CHECK(message_of<FailedPrecondition>([&] { model_to_dot(unbuilt); }) ==
        "plot_model: Sequential 'later' isn't built yet. Call it on data, fit it, or give it an "
        "Input first.");
}

// A program called dot, the only one in PATH during its lifetime.
class FakeDot {
 public:
  FakeDot(const Scratch& scratch, const std::string& script) : before_(getenv("PATH")) {
    const std::string folder = scratch.path("bin");
    std::filesystem::create_directories(folder);
    if (!script.empty()) {
      test::put(folder + "/dot", "#!/bin/sh\n" + script);
      chmod((folder + "/dot").c_str(), 0755);
    }
    setenv("PATH", folder.c_str(), 1);
  }
  ~FakeDot() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

TEST_CASE("plot: Graphviz's program draws, or it is said what is missing") {
  const Scratch scratch;
  const Model model = two_branches();
  const std::string file = scratch.path("m'; touch x; '.svg");
  test::put(file, "before");
  {
    const FakeDot none(scratch, "");
    const std::string text =
        message_of<FailedPrecondition>([&] { plot_model(model, {.to_file = file}); });
    CHECK(contains(text,
                   "is drawn by Graphviz's program dot, which can't be run here (No such "
                   "file or directory). Install it (on Debian: apt-get install graphviz), or "
                   "write a file that ends in '.dot'."));
  }
  {
    const FakeDot fails(scratch, "echo syntax error in line 1 >&2\nexit 3\n");
    CHECK(contains(message_of<FailedPrecondition>([&] { plot_model(model, {.to_file = file}); }),
                   "(exit code 3). It said: syntax error in line 1"));
  }
  CHECK(test::contents(file) == "before");
  {
    const FakeDot draws(scratch,
                        "[ \"$1\" = -Tsvg ] || exit 9\nwhile read -r line; do echo \"$line\"; done "
                        "> \"${2#-o}\"\n");
    plot_model(model, {.to_file = file});
  }
  CHECK(contains(test::contents(file), "digraph G {"));
  CHECK(scratch.names() == std::vector<std::string>{"bin", "m'; touch x; '.svg"});
}

}  // namespace
}  // namespace cornu
