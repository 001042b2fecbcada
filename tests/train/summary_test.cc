// SPDX-License-Identifier: Apache-2.0
#include "framework/train/console/summary.h"

#include <doctest/doctest.h>

#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/train/console/text_table.h"
#include "tests/golden/golden_cases.h"

namespace cornu {
namespace {

// Checks the texts of a golden case, made with these arguments.
void check_texts(const SummaryData& data, const Json& texts) {
  for (const auto& [key, text] : texts.as_object()) {
    const std::string form = key;
    CAPTURE(form);
    SummaryOptions options;
    if (form == "line_length_60") options.line_length = 60;
    options.show_trainable = form == "show_trainable";
    options.expand_nested = form == "expand_nested";
    CHECK(format_summary(data, options, form == "columns_80" ? 80 : 120) == text.as_string());
  }
}

SummaryRow input_row(const std::string& name, const std::string& shape) {
  return {.name = name, .class_name = "InputLayer", .output_shape = shape, .params = 0};
}

SummaryRow dense_row(const std::string& name, const std::string& shape, int64_t params,
                     std::vector<std::string> connected_to = {}) {
  return {.name = name,
          .class_name = "Dense",
          .output_shape = shape,
          .params = params,
          .trainable = true,
          .connected_to = std::move(connected_to)};
}

SummaryRow plain_row(const std::string& name, const std::string& class_name,
                     const std::string& shape, std::vector<std::string> connected_to = {}) {
  return {.name = name,
          .class_name = class_name,
          .output_shape = shape,
          .params = 0,
          .connected_to = std::move(connected_to)};
}

TEST_CASE("a trained sequential model's summary counts the optimizer's variables") {
  const Json cases = test::golden_cases("models");
  const Json& item = test::golden_case(cases, "dense_sgd");
  SummaryData data{
      .name = "sequential",
      .rows = {dense_row("dense", "(None, 8)", 40), dense_row("dense_1", "(None, 3)", 27)},
      .trainable = {67, 268},
      .non_trainable = {},
      .optimizer = {}};
  check_texts(data, item.at("summary_before_compile"));
  data.optimizer = SummaryCount{2, 12};
  check_texts(data, item.at("summary"));
}

TEST_CASE("rows wrap at spaces") {
  const Json cases = test::golden_cases("models");
  const Json& item = test::golden_case(cases, "cnn");
  auto weighted = [](SummaryRow row, int64_t params) {
    row.params = params;
    row.trainable = true;
    return row;
  };
  SummaryData data{
      .name = "cnn",
      .rows = {plain_row("rescaling", "Rescaling", "(None, 6, 6, 1)"),
               weighted(plain_row("conv2d", "Conv2D", "(None, 6, 6, 3)"), 27),
               weighted(plain_row("batch_normalization", "BatchNormalization", "(None, 6, 6, 3)"),
                        12),
               plain_row("re_lu", "ReLU", "(None, 6, 6, 3)"),
               plain_row("max_pooling2d", "MaxPooling2D", "(None, 3, 3, 3)"),
               weighted(plain_row("conv2d_1", "Conv2D", "(None, 2, 2, 4)"), 52),
               plain_row("dropout", "Dropout", "(None, 2, 2, 4)"),
               plain_row("flatten", "Flatten", "(None, 16)"), dense_row("dense", "(None, 3)", 51)},
      .trainable = {136, 544},
      .non_trainable = {6, 24},
      .optimizer = {}};
  check_texts(data, item.at("summary_before_compile"));
  data.optimizer = SummaryCount{274, 1100};
  check_texts(data, item.at("summary"));
}

TEST_CASE("a branching model's summary says what layers are connected to") {
  const Json cases = test::golden_cases("models");
  const Json& item = test::golden_case(cases, "functional");
  SummaryData data{.name = "two_heads",
                   .chain = false,
                   .rows = {input_row("left", "(None, 3)"), input_row("right", "(None, 3)"),
                            dense_row("shared", "(None, 4)", 16,
                                      {"left[0][0]", "right[0][0]", "left[0][0]", "right[0][0]"}),
                            plain_row("concatenate", "Concatenate", "(None, 8)",
                                      {"shared[0][0]", "shared[1][0]"}),
                            dense_row("dense", "(None, 5)", 45, {"concatenate[0][0]"}),
                            plain_row("add", "Add", "(None, 4)", {"shared[2][0]", "shared[3][0]"}),
                            dense_row("label", "(None, 3)", 18, {"dense[0][0]"}),
                            dense_row("score", "(None, 1)", 5, {"add[0][0]"})},
                   .trainable = {84, 336},
                   .non_trainable = {},
                   .optimizer = {}};
  check_texts(data, item.at("summary_before_compile"));
  data.optimizer = SummaryCount{170, 684};
  check_texts(data, item.at("summary"));
}

TEST_CASE("nested models open up, and names that don't fit are cut") {
  const Json cases = test::golden_cases("models");
  SummaryRow encoder{.name = "encoder",
                     .class_name = "Sequential",
                     .output_shape = "(None, 4)",
                     .params = 13004,
                     .trainable = true,
                     .connected_to = {"first[0][0]", "second[0][0]"},
                     .nested = {dense_row("a_very_long_layer_name_that_does_not_fit_its_column",
                                          "(None, 1000)", 9000),
                                dense_row("dense", "(None, 4)", 4004)}};
  SummaryRow frozen = dense_row("dense_1", "(None, 2)", 10);
  frozen.trainable = false;
  SummaryRow head{.name = "head",
                  .class_name = "Sequential",
                  .output_shape = "(None, 2)",
                  .params = 10,
                  .trainable = true,
                  .connected_to = {"add[0][0]"},
                  .nested = {frozen}};
  const SummaryData data{
      .name = "nested",
      .chain = false,
      .rows = {input_row("first", "(None, 8)"), input_row("second", "(None, 8)"), encoder,
               plain_row("multiply", "Multiply", "(None, 4)", {"encoder[1][0]"}),
               plain_row("add", "Add", "(None, 4)", {"encoder[0][0]", "multiply[0][0]"}), head,
               dense_row("dense_2", "(None, 300)", 1500, {"add[0][0]"}),
               plain_row("mean", "Mean", "(None)", {"add[0][0]"})},
      .trainable = {14504, 58016},
      .non_trainable = {10, 40},
      .optimizer = {}};
  check_texts(data, test::golden_case(cases, "summary_nested").at("summary_before_compile"));
}

TEST_CASE("several outputs, and layers that aren't built") {
  const Json cases = test::golden_cases("models");
  SummaryRow gru = plain_row("gru", "GRU", "[(None, None, 3), (None, 3)]");
  gru.params = 81;
  gru.trainable = true;
  SummaryData data{.name = "functional",
                   .rows = {input_row("input_layer", "(None, None, 4)"), gru},
                   .trainable = {81, 324},
                   .non_trainable = {},
                   .optimizer = {}};
  check_texts(data,
              test::golden_case(cases, "summary_multiple_outputs").at("summary_before_compile"));

  data = {.name = "sequential",
          .rows = {{.name = "dense", .class_name = "Dense"},
                   {.name = "dense_1", .class_name = "Dense"}},
          .trainable = {},
          .non_trainable = {},
          .optimizer = {}};
  check_texts(data, test::golden_case(cases, "summary_not_built").at("summary_before_compile"));
}

TEST_CASE("large counts get commas and larger units") {
  const SummaryData data{.name = "big",
                         .rows = {},
                         .trainable = {1234567, 4938268},
                         .non_trainable = {1024, 1048576},
                         .optimizer = {}};
  const std::string text = format_summary(data, {}, 80);
  CHECK(text.find(" Total params: 1,235,591 (5.71 MB)\n") != std::string::npos);
  CHECK(text.find(" Trainable params: 1,234,567 (4.71 MB)\n") != std::string::npos);
  CHECK(text.find(" Non-trainable params: 1,024 (1.00 MB)\n") != std::string::npos);
}

// The expected texts are Keras's.
TEST_CASE("positions and line_length set the columns; headers stand at the bottom") {
  const SummaryData data{.name = "m",
                         .rows = {dense_row("a", "(None, 2)", 8)},
                         .trainable = {8, 32},
                         .non_trainable = {},
                         .optimizer = {}};
  const std::string counts =
      " Total params: 8 (32.00 B)\n Trainable params: 8 (32.00 B)\n Non-trainable params: 0 (0.00 "
      "B)\n";
  CHECK(format_summary(data, {.line_length = 40, .positions = {0.5, 0.75, 1.0}}, 80) ==
        "Model: \"m\"\n"
        "┏━━━━━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━┓\n"
        "┃                   ┃ Output ┃         ┃\n"
        "┃ Layer (type)      ┃ Shape  ┃ Param # ┃\n"
        "┡━━━━━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━┩\n"
        "│ a (Dense)         │ (None, │       8 │\n"
        "│                   │ 2)     │         │\n"
        "└───────────────────┴────────┴─────────┘\n" +
            counts);
  CHECK(format_summary(data, {.line_length = 30}, 80) ==
        "Model: \"m\"\n"
        "┏━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━┓\n"
        "┃ Layer      ┃ Output  ┃ Pa… ┃\n"
        "┃ (type)     ┃ Shape   ┃   # ┃\n"
        "┡━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━┩\n"
        "│ a (Dense)  │ (None,  │   8 │\n"
        "│            │ 2)      │     │\n"
        "└────────────┴─────────┴─────┘\n" +
            counts);
}

TEST_CASE("columns too narrow for a summary are an error") {
  const SummaryData data{
      .name = "m", .rows = {}, .trainable = {}, .non_trainable = {}, .optimizer = {}};
  CHECK_THROWS_WITH_AS(format_summary(data, {.positions = {0.5, 1.0}}, 80),
                       "summary: expected 3 positions, one a column, got 2.", InvalidArgument);
  CHECK_THROWS_WITH_AS(format_summary(data, {.line_length = 12}, 80),
                       "summary: expected columns of at least 4 characters, got 3 for 'Param #' in "
                       "a line of 12. Raise line_length.",
                       InvalidArgument);
}

// ---- rows of real models ----

// One weight per feature.
class Scale : public Layer {
 public:
  explicit Scale(const std::string& name) : Layer({.name = name}) {}
  void build(const Shape& input_shape) override {
    weight_ = add_weight({.shape = {input_shape.back()}, .initializer = "ones", .name = "scale"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return x * weight_; }
  std::string class_name() const override { return "Scale"; }

 private:
  Variable weight_;
};

// "name (class) shape params connections", one row per line; nested rows are indented.
std::string text_of(const std::vector<SummaryRow>& rows, const std::string& indent = "") {
  std::string text;
  for (const SummaryRow& row : rows) {
    text += fmt::format("{}{} ({}) {} {} {}|", indent, row.name, row.class_name, row.output_shape,
                        row.params ? std::to_string(*row.params) : "unbuilt",
                        !row.trainable   ? "-"
                        : *row.trainable ? "Y"
                                         : "N");
    for (const std::string& connection : row.connected_to) text += " " + connection;
    text += "\n" + text_of(row.nested, indent + "  ");
  }
  return text;
}

TEST_CASE("rows of a model that shares a layer, and of ops between layers") {
  const Tensor left = Input({.shape = {3}, .name = "left"});
  const Tensor right = Input({.shape = {3}, .name = "right"});
  const auto shared = make_layer<Scale>("shared");
  const Tensor a = shared(left);
  const Tensor b = shared(right);
  const Model model({left, right}, a + b, {.name = "two_inputs"});
  const SummaryData data = summarize(model);
  CHECK(data.name == "two_inputs");
  CHECK(!data.chain);
  CHECK(data.trainable.params == 3);
  CHECK(data.trainable.bytes == 12);
  CHECK(!data.optimizer);
  const std::string rows = text_of(data.rows);
  CHECK(rows.find("left (InputLayer) (None, 3) 0 -|\n") != std::string::npos);
  CHECK(rows.find("right (InputLayer) (None, 3) 0 -|\n") != std::string::npos);
  CHECK(rows.find("shared (Scale) (None, 3) 3 Y| left[0][0] right[0][0]\n") != std::string::npos);
  CHECK(rows.find("(Add) (None, 3) 0 -| shared[0][0] shared[1][0]\n") != std::string::npos);
}

TEST_CASE("what is a chain needs no column of connections") {
  const Tensor x = Input({.shape = {4}, .name = "x"});
  const Tensor y = make_layer<Scale>("first")(x);
  CHECK(summarize(Model(x, make_layer<Scale>("second")(y))).chain);
  CHECK(!summarize(Model(x, y + x)).chain);  // both inputs of the same node
  const Tensor z = make_layer<Scale>("second")(y);
  CHECK(!summarize(Model(x, {z, make_layer<Scale>("third")(y)})).chain);  // a fork
  const auto twice = make_layer<Scale>("twice");
  CHECK(!summarize(Model(x, twice(twice(x)))).chain);
}

TEST_CASE("rows of nested models, frozen layers and layers that aren't built") {
  const LayerHandle frozen = make_layer<Scale>("frozen");
  frozen.set_trainable(false);
  const LayerHandle inner =
      Sequential(Input({.shape = {5}}), {make_layer<Scale>("first"), frozen}, {.name = "inner"});
  const Tensor x = Input({.shape = {5}, .name = "x"});
  const SummaryData data = summarize(Model(x, inner(x)));
  CHECK(text_of(data.rows) ==
        "x (InputLayer) (None, 5) 0 -|\n"
        "inner (Sequential) (None, 5) 10 Y| x[0][0]\n"
        "  first (Scale) (None, 5) 5 Y|\n"
        "  frozen (Scale) (None, 5) 5 N|\n");
  CHECK(data.trainable.params == 5);
  CHECK(data.non_trainable.params == 5);

  Sequential unbuilt({make_layer<Scale>("a"), make_layer<Scale>("b")});
  CHECK(text_of(summary_rows(unbuilt)) == "a (Scale) ? unbuilt -|\nb (Scale) ? unbuilt -|\n");
}

TEST_CASE("a subclass's layers are listed with the shapes they were built for") {
  class Subclass : public Model {
   public:
    Subclass() : scale_(track(make_layer<Scale>("scale"))) {}
    Tensor call(const Tensor& x, const CallArgs& args) override { return scale_(x, args); }

   private:
    LayerRef<Scale> scale_;
  };
  Subclass model;
  CHECK(text_of(summary_rows(model)) == "scale (Scale) ? unbuilt -|\n");
  model(Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  CHECK(text_of(summary_rows(model)) == "scale (Scale) (2, 3) 3 Y|\n");
}

TEST_CASE("print_fn gets the whole text at once") {
  std::vector<std::string> parts;
  Sequential model({make_layer<Scale>("a")}, {.name = "m"});
  model.summary(
      {.line_length = 60, .print_fn = [&](const std::string& text) { parts.push_back(text); }});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].find("Model: \"m\"\n┏━") == 0);
  CHECK(parts[0].find("│ a (Scale)") != std::string::npos);
  CHECK(parts[0].find(" Non-trainable params: 0 (0.00 B)\n") != std::string::npos);
}

TEST_CASE("models that Keras serialized have Keras's summaries") {
  int models = 0;
  for (const Json& item : test::golden_cases("models").as_array()) {
    const std::string& name = item.at("name").as_string();
    CAPTURE(name);
    if (name == "summary_multiple_outputs") continue;  // its GRU is tested above
    if (name == "summary_nested") continue;  // its Mean is one op in Keras, but two ops here
    const LayerHandle handle = layer_from_json(Json::parse(item.at("json").as_string()));
    Model& model = dynamic_cast<Model&>(handle.get());
    check_texts(summarize(model), item.at("summary_before_compile"));
    ++models;
    const Json* trained = item.find("summary");
    if (!trained) continue;
    model.compile({.optimizer = optimizer_from_json(item.at("compile_config").at("optimizer"))});
    model.optimizer().impl().build(model.trainable_weights());
    check_texts(summarize(model), *trained);
  }
  CHECK(models >= 22);  // all but the two skipped above
}

TEST_CASE("cells break at spaces and end long words with an ellipsis") {
  using Lines = std::vector<std::string>;
  CHECK(wrap_cell("", 5) == Lines{""});
  CHECK(wrap_cell("one two three", 7) == Lines{"one two", "three"});
  CHECK(wrap_cell("one  two", 3) == Lines{"one", "two"});
  CHECK(wrap_cell("   └ unbreakable (x)", 6) == Lines{"   └", "unbre…", "(x)"});
  CHECK(wrap_cell("└└└└ └└", 4) == Lines{"└└└└", "└└"});
}

}  // namespace
}  // namespace cornu
