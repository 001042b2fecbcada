// SPDX-License-Identifier: Apache-2.0
// ONNX files that are damaged, inconsistent, or have unsupported contents: the error says where.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "framework/core/proto_wire.h"
#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/onnx_proto.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using onnx::ProtoGraph;
using test::contains;
using test::Scratch;

// A graph with these nodes, from x (batch, 4) to y.
ProtoGraph graph_of(std::vector<onnx::ProtoNode> nodes,
                    std::vector<onnx::ProtoTensor> weights = {}) {
  ProtoGraph graph;
  graph.name = "g";
  graph.nodes = std::move(nodes);
  graph.initializers = std::move(weights);
  for (onnx::ProtoTensor& weight : graph.initializers) weight.value = weight.value.host();
  graph.inputs = {{"x", DType::Float32, {std::string("batch"), int64_t{4}}}};
  graph.outputs = {{"y", DType::Float32, {}}};
  return graph;
}

std::string text_of(const ProtoGraph& graph, int64_t opset = 18) {
  const onnx::EncodedModel encoded = onnx::encode_model(graph, opset, "m", {});
  std::string text;
  for (const auto& piece : encoded.file) {
    text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return text;
}

// The error of load_model for a file with these bytes, which must be of kind E.
template <class E = Error>
std::string error_of_file(const Scratch& scratch, const std::string& text) {
  const std::string path = scratch.path("m.onnx");
  test::put(path, text);
  try {
    load_model(path);
  } catch (const Error& error) {
    std::string said = error.what();
    CAPTURE(said);
    CHECK(dynamic_cast<const E*>(&error) != nullptr);
    const size_t at = said.find(path);
    return at == std::string::npos ? said : said.replace(at, path.size(), "m.onnx");
  }
  return "nothing thrown";
}

template <class E = Error>
std::string error_of_graph(const Scratch& scratch, const ProtoGraph& graph) {
  return error_of_file<E>(scratch, text_of(graph));
}

onnx::ProtoNode node(const char* op, std::vector<std::string> inputs, std::string output,
                     std::string attributes = {}) {
  return {
      op, std::string("the_") + op, std::move(inputs), {std::move(output)}, std::move(attributes)};
}

std::string small_model(const Scratch& scratch) {
  Model model = Sequential(
      {Input({.shape = {8, 8, 2}, .name = "x"}),
       layers::Conv2D({.filters = 3, .kernel_size = 3, .padding = "same", .activation = "relu"}),
       layers::MaxPooling2D(), layers::Flatten(), layers::Dense({.units = 2, .name = "y"})});
  model.export_(scratch.path("whole.onnx"));
  return test::contents(scratch.path("whole.onnx"));
}

TEST_CASE("files that end too early") {
  const Scratch scratch;
  const std::string text = small_model(scratch);
  REQUIRE(error_of_file(scratch, "") ==
          "'m.onnx' has no graph. The file is damaged, or no ONNX file.");
  const std::string path = scratch.path("m.onnx");
  for (size_t size = 0; size < text.size(); ++size) {
    test::put(path, text.substr(0, size));
    CAPTURE(size);
    try {
      load_model(path);
      FAIL_CHECK("a part of a file was read");
    } catch (const Error& error) {
      CHECK(error.code() != StatusCode::Internal);
      CHECK(contains(error.what(), path));
    }
  }
  CHECK(contains(error_of_file<DataLoss>(scratch, text.substr(0, text.size() / 2)),
                 "a length beyond the end. The file is damaged, or no ONNX file."));
}

TEST_CASE("files with other bits") {
  constexpr unsigned kSeed = 3;
  CAPTURE(kSeed);
  std::mt19937 draw(kSeed);
  const Scratch scratch;
  const std::string text = small_model(scratch);
  const std::string path = scratch.path("m.onnx");
  int failed = 0;
  for (int turn = 0; turn < 1500; ++turn) {
    std::string damaged = text;
    for (int i = 0; i < 1 + turn % 3; ++i) {
      damaged[draw() % damaged.size()] ^= static_cast<char>(1u << (draw() % 8));
    }
    test::put(path, damaged);
    try {
      load_model(path);
    } catch (const Error& error) {
      CHECK(error.code() != StatusCode::Internal);
      ++failed;
    }
  }
  CHECK(failed > 200);
}

TEST_CASE("operators, and forms of them, that aren't read") {
  const Scratch scratch;
  CHECK(contains(error_of_graph<Unimplemented>(scratch, graph_of({node("NonZero", {"x"}, "y")})),
                 "'m.onnx': node 'the_NonZero' (NonZero): this operator isn't read."));
  CHECK(contains(error_of_graph<Unimplemented>(scratch, graph_of({node("Relo", {"x"}, "y")})),
                 "node 'the_Relo' (Relo): this operator isn't read. Did you mean 'Relu'"));
  CHECK(error_of_graph<Unimplemented>(scratch, graph_of({node("Conv", {"x", "x"}, "y")})) ==
        "'m.onnx': node 'the_Conv' (Conv): its input 'x' must be a constant: a tensor of the file, "
        "or what is computed of such alone");
  CHECK(contains(error_of_graph<InvalidArgument>(scratch, graph_of({node("Gemm", {"x", "w"}, "y")},
                                                                   {{"w", ops::zeros({5, 3})}})),
                 "'m.onnx': node 'the_Gemm' (Gemm): expected weights 'kernel' of shape (4, 3), "
                 "got (5, 3)."));
}

// A graph whose input x has these sizes, where "" means unknown.
ProtoGraph graph_over(std::vector<std::variant<int64_t, std::string>> sizes, onnx::ProtoNode last,
                      std::vector<onnx::ProtoTensor> weights = {}, DType dtype = DType::Float32) {
  ProtoGraph graph = graph_of({std::move(last)}, std::move(weights));
  graph.inputs = {{"x", dtype, std::move(sizes)}};
  return graph;
}

TEST_CASE("modes that no operator has") {
  const Scratch scratch;
  const Tensor zero = Tensor::from(std::vector<int64_t>{0, 0, 0, 0, 0, 0, 0, 0});
  const Tensor scales = Tensor::from(std::vector<float>{1, 1, 2, 2});
  const std::vector<onnx::ProtoTensor> weights = {{"p", zero},
                                                  {"s", scales},
                                                  {"i", ops::zeros({1, 1, 1, 1}, DType::Int64)},
                                                  {"w", ops::ones({1, 1, 1, 1})}};
  const auto error = [&](const char* op, std::vector<std::string> inputs, const char* attribute) {
    const onnx::ProtoNode one = node(op, std::move(inputs), "y",
                                     onnx::text(attribute, "no") + onnx::integer("blocksize", 1) +
                                         onnx::integers("kernel_shape", {1, 1}));
    return error_of_graph<InvalidArgument>(scratch, graph_over({1, 4, 4, 4}, one, weights));
  };
  CHECK(contains(error("Pad", {"x", "p"}, "mode"),
                 "(Pad): unknown mode 'no'. Known: constant, reflect, edge, wrap."));
  CHECK(contains(error("Resize", {"x", "", "s"}, "mode"), "(Resize): unknown mode 'no'."));
  for (const char* attribute : {"coordinate_transformation_mode", "nearest_mode"}) {
    CHECK(contains(error("Resize", {"x", "", "s"}, attribute),
                   fmt::format("(Resize): unknown {} 'no'.", attribute)));
  }
  CHECK(contains(error("DepthToSpace", {"x"}, "mode"), "unknown mode 'no'."));
  CHECK(contains(error("Gelu", {"x"}, "approximate"), "unknown approximate 'no'."));
  CHECK(contains(error("MaxPool", {"x"}, "auto_pad"), "unknown auto_pad 'no'."));
  for (const char* op : {"ScatterND", "ScatterElements"}) {
    CHECK(contains(error(op, {"x", "i", "w"}, "reduction"), "unknown reduction 'no'."));
  }
}

TEST_CASE("numbers that are no whole ones") {
  const Scratch scratch;
  const auto error = [&](const char* op, std::vector<std::string> inputs, float number) {
    return error_of_graph<InvalidArgument>(
        scratch, graph_of({node(op, std::move(inputs), "y")},
                          {{"n", Tensor::scalar(number)}, {"w", ops::ones({2})}}));
  };
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  for (const float number : {0.5f, kInfinite, -kInfinite, std::nanf(""), 1e20f}) {
    CHECK(contains(error("TopK", {"x", "n"}, number), "(TopK): expected a whole number as input"));
    CHECK(contains(error("CumSum", {"x", "n"}, number), "(CumSum): expected a whole number"));
    CHECK(contains(error("OneHot", {"x", "n", "w"}, number), "(OneHot): expected a whole number"));
  }
}

TEST_CASE("forms that can't be the same") {
  const Scratch scratch;
  const std::vector<onnx::ProtoTensor> scales = {
      {"s", Tensor::from(std::vector<float>{1, 1, 2, 2, 2})},
      {"t", Tensor::from(std::vector<float>{1, 1, 2, 2})}};
  const auto resize = [](const char* mode, const char* by) {
    return node("Resize", {"x", "", by}, "y", onnx::text("mode", mode));
  };
  for (const ProtoGraph& graph :
       {graph_over({1, 1, 2, 2, 2}, resize("linear", "s"), scales, DType::UInt8),
        graph_over({1, 1, 2, 2}, resize("cubic", "t"), scales, DType::UInt8)}) {
    CHECK(contains(error_of_graph<Unimplemented>(scratch, graph),
                   "(Resize): it resizes integers other than linearly along the last two axes of "
                   "two or four"));
  }
  CHECK(contains(
      error_of_graph<Unimplemented>(
          scratch, graph_over({1, 1, "h", 2}, resize("linear", "u"),
                              {{"u", Tensor::from(std::vector<float>{1, 1, 1, 2})}}, DType::UInt8)),
      "(Resize): it interpolates integers along an axis of unknown size"));
  CHECK(contains(
      error_of_graph<Unimplemented>(
          scratch, graph_over({"n", "c"}, node("PRelu", {"x", "w"}, "y"), {{"w", ops::ones({4})}})),
      "(PRelu): its slopes vary along an axis of unknown size"));
  CHECK(
      contains(error_of_graph<InvalidArgument>(
                   scratch, graph_of({node("LpNormalization", {"x"}, "y", onnx::integer("p", 3))})),
               "(LpNormalization): expected the norm 1 or 2, got 3."));
  constexpr int64_t kLarge = std::numeric_limits<int64_t>::max();
  CHECK(contains(error_of_graph<InvalidArgument>(
                     scratch, graph_over({1, 1, 4},
                                         node("ConvTranspose", {"x", "w"}, "y",
                                              onnx::integers("dilations", {kLarge})),
                                         {{"w", ops::ones({1, 1, 3})}})),
                 "(ConvTranspose): a kernel with dilations: expected sizes whose product fits"));
}

// Before operator set 14, a batch normalization that also outputs means is in training mode.
TEST_CASE("a batch normalization of the batch") {
  const Scratch scratch;
  const Tensor ones = ops::ones({4});
  for (const int64_t opset : {7, 13}) {
    ProtoGraph graph =
        graph_of({node("BatchNormalization", {"x", "w", "w", "w", "w"}, "y")}, {{"w", ones}});
    CHECK(error_of_file(scratch, text_of(graph, opset)) == "nothing thrown");
    graph.nodes[0].outputs.push_back("mean");
    CHECK(contains(error_of_file<Unimplemented>(scratch, text_of(graph, opset)),
                   "(BatchNormalization): it normalizes by the batch in predictions, too (it has "
                   "more than one output)"));
  }
}

TEST_CASE("places outside of an axis") {
  const Scratch scratch;
  const auto error = [&](std::vector<int64_t> places) {
    const Tensor indices = ops::reshape(Tensor::from(places), {1, 2});
    return error_of_graph<InvalidArgument>(
        scratch, graph_of({node("GatherND", {"x", "i"}, "y")}, {{"i", indices}}));
  };
  CHECK(
      error({0, 4}) ==
      "'m.onnx': node 'the_GatherND' (GatherND): expected places in axis 1, which has 4 elements, "
      "got 4.");
  CHECK(contains(error({0, -5}), "which has 4 elements, got -5."));
  CHECK(contains(error({0, int64_t{1} << 62}), "which has 4 elements, got 4611686018427387904."));
}

TEST_CASE("names, and weights that several nodes have") {
  const Scratch scratch;
  ProtoGraph graph = graph_of({{"MatMul", "/a.b/MatMul", {"in.1/x", "w"}, {"h"}, {}},
                               {"MatMul", "/a.b/MatMul", {"h", "w"}, {"i"}, {}},
                               {"Relu", "/a.b/MatMul", {"i"}, {"j"}, {}},
                               {"Exp", "", {"j"}, {"y"}, {}}},
                              {{"w", ops::ones({4, 4})}});
  graph.inputs[0].name = "in.1/x";
  test::put(scratch.path("m.onnx"), text_of(graph));
  const Model model = load_model(scratch.path("m.onnx"));
  std::vector<std::string> names;
  for (const auto& layer : model.operations()) names.push_back(layer.name());
  CHECK(join(names, " ") == "in.1_x a_b_MatMul a_b_MatMul_1 y");
  CHECK(model.count_params() == 16);
}

TEST_CASE("graphs that don't hold together") {
  const Scratch scratch;
  CHECK(
      error_of_graph<DataLoss>(scratch, graph_of({node("Relu", {"z"}, "y")})) ==
      "'m.onnx': node 'the_Relu' (Relu) reads 'z', which no node before it makes, and which is no "
      "input.");
  // A cycle, and nodes in the wrong order.
  CHECK(contains(error_of_graph<DataLoss>(
                     scratch, graph_of({node("Add", {"x", "b"}, "a"), node("Relu", {"a"}, "b"),
                                        node("Relu", {"b"}, "y")})),
                 "reads 'b', which no node before it makes"));
  CHECK(contains(error_of_graph<DataLoss>(scratch, graph_of({node("Relu", {"y"}, "y")})),
                 "reads 'y', which no node before it makes"));
  CHECK(error_of_graph<DataLoss>(scratch,
                                 graph_of({node("Relu", {"x"}, "y"), node("Exp", {"x"}, "y")})) ==
        "'m.onnx': node 'the_Exp' (Exp): a value of its name, 'y', is there already.");
  CHECK(error_of_graph<DataLoss>(scratch, graph_of({node("Relu", {"x"}, "z")})) ==
        "'m.onnx': no node makes its output 'y'.");
  CHECK(error_of_graph<DataLoss>(scratch,
                                 graph_of({node("Add", {"x", "w"}, "y")},
                                          {{"w", ops::zeros({4})}, {"w", ops::ones({4})}})) ==
        "'m.onnx': two of its tensors are named 'w'.");
  CHECK(contains(error_of_graph<Unimplemented>(
                     scratch, graph_of({node("Identity", {"w"}, "y")}, {{"w", ops::zeros({4})}})),
                 "'m.onnx': its output 'y' depends on no input"));
}

// If, with these branches from outer values to v.
ProtoGraph branching(const std::string& condition, const std::string& branches) {
  return graph_of({node("ReduceSum", {"x"}, "sum", onnx::integer("keepdims", 0)),
                   node("Cast", {"sum"}, "some", onnx::integer("to", 9)),
                   node("If", {condition}, "y", branches)},
                  {{"yes", ops::ones({}, DType::Bool)}});
}

std::string branch_of(const char* name, std::vector<onnx::ProtoNode> nodes) {
  ProtoGraph graph;
  graph.name = name;
  graph.nodes = std::move(nodes);
  graph.outputs = {{"v", DType::Float32, {}}};
  return onnx::subgraph(name, graph);
}

TEST_CASE("branches that don't hold together") {
  const Scratch scratch;
  const std::string then = branch_of("then_branch", {node("Relu", {"x"}, "v")});
  CHECK(
      error_of_graph<DataLoss>(scratch, branching("some", then)) ==
      "'m.onnx': node 'the_If' (If): both branches are read, since which is taken isn't known: it "
      "has no else_branch with as many outputs as it has.");
  CHECK(error_of_graph(scratch, branching("yes", then)) == "nothing thrown");
  const std::string empty = branch_of("then_branch", {});
  CHECK(error_of_graph<DataLoss>(scratch, branching("yes", empty)) ==
        "'m.onnx': node 'the_If' (If): no node makes the output 'v' of its then_branch.");
  const std::string unread = branch_of("else_branch", {node("NonZero", {"x"}, "v")});
  CHECK(contains(error_of_graph<Unimplemented>(scratch, branching("some", then + unread)),
                 "node 'the_NonZero' (NonZero): this operator isn't read"));
  const std::string other = branch_of("else_branch", {node("Exp", {"x"}, "v")});
  CHECK(
      contains(error_of_graph<InvalidArgument>(scratch, branching("x", then + other)), "reshape"));
  // Values of a branch can't be read behind it.
  ProtoGraph behind = branching("yes", then);
  behind.nodes.back().outputs = {"z"};
  behind.nodes.push_back(node("Add", {"z", "v"}, "y"));
  CHECK(contains(error_of_graph<DataLoss>(scratch, behind), "reads 'v', which no node before it"));
  std::string deep = then;
  for (int i = 0; i < 40; ++i) deep = branch_of("then_branch", {node("If", {"yes"}, "v", deep)});
  CHECK(contains(error_of_graph<Unimplemented>(scratch, branching("yes", deep)),
                 "its then_branch is nested too deeply."));
}

// ---- tensors with wrong declarations ----

// A model whose tensor w is this message.
std::string with_tensor(const std::string& tensor) {
  std::string text = text_of(graph_of({node("Add", {"x", "w"}, "y")}));
  // The graph is the last field; its length is updated.
  std::string opset, head, graph;
  wire::Reader reader(text);
  while (!reader.done()) {
    wire::Type type;
    const char* begin = reader.at();
    const uint32_t field = reader.field(type);
    if (field == 7) {
      graph = std::string(reader.bytes());
    } else {
      reader.skip(type);
      head.append(begin, reader.at());
    }
  }
  wire::put_bytes(graph, 5, tensor);
  wire::put_bytes(head, 7, graph);
  return head;
}

std::string tensor_of(const std::vector<int64_t>& dims, int64_t type, const std::string& raw) {
  std::string tensor;
  for (const int64_t size : dims) wire::put_int(tensor, 1, size);
  wire::put_int(tensor, 2, type);
  wire::put_bytes(tensor, 8, "w");
  wire::put_bytes(tensor, 9, raw);
  return tensor;
}

TEST_CASE("sizes that no file has") {
  const Scratch scratch;
  const auto error = [&](const std::vector<int64_t>& dims, int64_t type = 1) {
    return error_of_file(scratch, with_tensor(tensor_of(dims, type, std::string(16, '\0'))));
  };
  CHECK(contains(error({5}), "a tensor that has other bytes than its sizes say"));
  CHECK(contains(error({int64_t{1} << 40}), "a tensor that has other bytes than its sizes say"));
  CHECK(contains(error({int64_t{1} << 40, int64_t{1} << 40}), "a tensor of impossible sizes"));
  CHECK(contains(error({-4}), "a tensor of impossible sizes"));
  CHECK(
      contains(error({4}, 8), "its tensor 'w' is of ONNX's data type 8, which Cornu doesn't have"));
}

TEST_CASE("little that asks for much") {
  const Scratch scratch;
  const Tensor large = Tensor::from(std::vector<int64_t>{int64_t{1} << 20, int64_t{1} << 20});
  const auto error = [&](std::vector<onnx::ProtoNode> nodes,
                         std::vector<onnx::ProtoTensor> weights) {
    nodes.push_back(node("Add", {"x", "c"}, "y"));
    return error_of_graph(scratch, graph_of(std::move(nodes), std::move(weights)));
  };
  CHECK(contains(error({node("ConstantOfShape", {"s"}, "c")}, {{"s", large}}),
                 "node 'the_ConstantOfShape' (ConstantOfShape): "));
  CHECK(contains(error({node("Expand", {"v", "s"}, "c")}, {{"v", ops::ones({1, 1})}, {"s", large}}),
                 "(Expand): "));
  CHECK(contains(error({node("Tile", {"v", "s"}, "c")}, {{"v", ops::ones({1, 1})}, {"s", large}}),
                 "(Tile): "));
  CHECK(contains(
      error({node("Range", {"a", "b", "d"}, "c")}, {{"a", Tensor::scalar(int64_t{0})},
                                                    {"b", Tensor::scalar(int64_t{1} << 45)},
                                                    {"d", Tensor::scalar(int64_t{1})}}),
      "(Range): "));
  CHECK(contains(error({node("Pad", {"v", "s"}, "c")},
                       {{"v", ops::ones({1})},
                        {"s", Tensor::from(std::vector<int64_t>{1, int64_t{1} << 40})}}),
                 "(Pad): "));
  CHECK(contains(
      error({node("Resize", {"v", "", "", "s"}, "c")}, {{"v", ops::ones({1, 1})}, {"s", large}}),
      "(Resize): "));
  // Many constants of moderate size.
  std::vector<onnx::ProtoNode> many;
  for (int i = 0; i < 200; ++i) {
    many.push_back(node("ConstantOfShape", {"s"}, fmt::format("c{}", i)));
  }
  many.push_back(node("Identity", {"c7"}, "c"));
  const std::string text = error(many, {{"s", Tensor::from(std::vector<int64_t>{1024, 1024})}});
  CAPTURE(text);
  CHECK(contains(text, "(ConstantOfShape): expected a tensor of at most "));
}

TEST_CASE("little that asks for much work") {
  const Scratch scratch;
  const auto sizes = [](std::vector<int64_t> values) { return Tensor::from(values); };
  const auto error = [&](std::vector<onnx::ProtoNode> nodes, const Tensor& shape) {
    nodes.insert(nodes.begin(), node("ConstantOfShape", {"s"}, "c"));
    nodes.push_back(node("ReduceSum", {"d"}, "e"));
    nodes.push_back(node("Add", {"x", "e"}, "y"));
    return error_of_graph(scratch, graph_of(std::move(nodes), {{"s", shape}}));
  };
  std::string equation, window;
  wire::put_bytes(equation, 1, "equation");
  wire::put_bytes(equation, 4, "i,j,k->");
  wire::put_int(equation, 20, 3);
  wire::put_bytes(window, 1, "kernel_shape");
  wire::put_int(window, 8, 1000);
  wire::put_int(window, 20, 7);
  const auto attribute = [](const std::string& message) {
    std::string field;
    wire::put_bytes(field, 5, message);
    return field;
  };
  CHECK(contains(error({node("MatMul", {"c", "c"}, "d")}, sizes({1500, 1500})),
                 "node 'the_MatMul' (MatMul): constants of more than "));
  CHECK(contains(error({node("Einsum", {"c", "c", "c"}, "d", attribute(equation))}, sizes({9000})),
                 "node 'the_Einsum' (Einsum): its operands are constants alone."));
  CHECK(contains(
      error({node("MaxPool", {"c"}, "d", attribute(window))}, sizes({1, 1, int64_t{1} << 23})),
      "node 'the_MaxPool' (MaxPool): its operands are constants alone."));
  CHECK(contains(error({node("Conv", {"c", "c"}, "d")}, sizes({1, 1, int64_t{1} << 12})),
                 "node 'the_Conv' (Conv): its operands are constants alone."));
  CHECK(contains(error({node("RNN", {"c", "c", "c"}, "d")}, sizes({1024, 1, 1024})),
                 "node 'the_RNN' (RNN): its operands are constants alone."));
  // Constants stored in ops.
  std::vector<onnx::ProtoNode> many;
  for (int i = 0; i < 40; ++i) {
    many.push_back(node("Expand", {"x", "s"}, fmt::format("v{}", i)));
  }
  many.push_back(node("Identity", {"v7"}, "d"));
  CHECK(
      contains(error(many, sizes({int64_t{1} << 20, 1, 4})), "(Expand): constants of more than "));
}

TEST_CASE("messages of no bytes") {
  const Scratch scratch;
  const auto error = [&](uint32_t field) {
    std::string messages, text;
    for (int i = 0; i < 2'000'000; ++i) wire::put_bytes(messages, field, "");
    if (field == 5) {  // attributes of one node
      std::string graph;
      wire::put_bytes(graph, 1, messages);
      messages = std::move(graph);
    }
    std::string opset;
    wire::put_int(opset, 2, 18);
    wire::put_bytes(text, 8, opset);
    wire::put_bytes(text, 7, messages);
    return error_of_file<ResourceExhausted>(scratch, text);
  };
  for (const uint32_t field : {1, 5, 11, 12}) {
    CHECK(error(field) ==
          "'m.onnx': its nodes take much more memory than it has bytes. The file is damaged, or no "
          "ONNX file.");
  }
}

// ---- tensors in other files ----

std::string external(const std::string& location, const std::string& offset = "0",
                     const std::string& length = "16") {
  std::string tensor;
  wire::put_int(tensor, 1, 4);
  wire::put_int(tensor, 2, 1);
  wire::put_bytes(tensor, 8, "w");
  for (const auto& [key, value] :
       {std::pair("location", location), {"offset", offset}, {"length", length}}) {
    std::string entry;
    wire::put_bytes(entry, 1, key);
    wire::put_bytes(entry, 2, value);
    wire::put_bytes(tensor, 13, entry);
  }
  wire::put_int(tensor, 14, 1);
  return with_tensor(tensor);
}

TEST_CASE("data in other files") {
  const Scratch scratch;
  test::put(scratch.path("w.bin"), std::string(20, '\0'));
  test::put(scratch.path("m.onnx"), external("w.bin", "4"));
  Model model = load_model(scratch.path("m.onnx"));
  CHECK(model.predict_on_batch(ops::ones({1, 4})).single().to_vector<float>() ==
        std::vector<float>{1, 1, 1, 1});

  std::filesystem::create_symlink("/etc/passwd", scratch.path("link"));
  for (const char* path : {"../x", "/etc/passwd", "a/b", ".", "..", "", "a\\b"}) {
    CHECK(error_of_file<InvalidArgument>(scratch, external(path)) ==
          fmt::format("'m.onnx': its tensor 'w' is in another file, '{}'; expected the name of one "
                      "in the same directory.",
                      path));
  }
  CHECK(error_of_file<InvalidArgument>(scratch, external("link")) ==
        "'m.onnx': its tensor 'w' is in the file 'link', which is a link to another directory. Put "
        "the file itself there.");
  CHECK(error_of_file<NotFound>(scratch, external("none")) ==
        "'m.onnx': its tensor 'w' is in the file 'none', which isn't there.");
  CHECK(contains(error_of_file<DataLoss>(scratch, external("w.bin", "8")), "which has 20."));
  CHECK(contains(error_of_file<DataLoss>(scratch, external("w.bin", "0", "20")),
                 "its tensor 'w' has 20 bytes in "));
  CHECK(contains(error_of_file<DataLoss>(scratch, external("w.bin", "-1")),
                 "its tensor 'w' has the offset '-1', which is no number."));
  CHECK(contains(error_of_file<DataLoss>(scratch, external("w.bin", "18446744073709551615")),
                 "its tensor 'w' has the bytes from 18446744073709551615"));
}

TEST_CASE("a graph within a graph, however deep, isn't looked into") {
  const Scratch scratch;
  std::string inner;
  for (int depth = 0; depth < 2'000; ++depth) {
    std::string attribute, node_text, graph;
    wire::put_bytes(attribute, 1, "body");
    wire::put_bytes(attribute, 6, inner);
    wire::put_int(attribute, 20, 5);
    wire::put_bytes(node_text, 4, "Loop");
    wire::put_bytes(node_text, 5, attribute);
    wire::put_bytes(graph, 1, node_text);
    inner = graph;
    if (inner.size() > 1'000'000) break;
  }
  std::string attribute;
  wire::put_bytes(attribute, 1, "body");
  wire::put_bytes(attribute, 6, inner);
  wire::put_int(attribute, 20, 5);
  std::string field;
  wire::put_bytes(field, 5, attribute);
  CHECK(
      contains(error_of_graph<Unimplemented>(scratch, graph_of({node("Loop", {"x"}, "y", field)})),
               "node 'the_Loop' (Loop): this operator isn't read."));
}

TEST_CASE("a long chain of nodes") {
  const Scratch scratch;
  std::vector<onnx::ProtoNode> nodes;
  constexpr int kNodes = 3'000;
  for (int i = 0; i < kNodes; ++i) {
    nodes.push_back({"Relu",
                     "",
                     {i == 0 ? "x" : fmt::format("v{}", i)},
                     {i == kNodes - 1 ? "y" : fmt::format("v{}", i + 1)},
                     {}});
  }
  test::put(scratch.path("m.onnx"), text_of(graph_of(std::move(nodes))));
  const Model model = load_model(scratch.path("m.onnx"));
  CHECK(model.operations().size() == kNodes + 1);
}

}  // namespace
}  // namespace cornu
