// SPDX-License-Identifier: Apache-2.0
// Whole models compared with real Keras: loaded from its configs, trained on its data from its
// initial weights.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/model/layer_registry.h"
#include "framework/train/model_config.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;

namespace {

// Float32 sums in a different order, accumulated over up to nine update steps.
constexpr test::Tolerance kClose = {.relative = 1e-5, .absolute = 2e-6};

// How the step is run: each way must reproduce Keras's numbers.
struct Way {
  std::string name;
  bool run_eagerly;
  bool jit_compile;
};
const Way kWays[] = {
    {"eager", true, true}, {"compiled without passes", false, false}, {"compiled", false, true}};

Tensors tensors_of(const Json& list) {
  std::vector<Tensor> tensors;
  if (list.is_null()) return tensors;
  for (const Json& item : list.as_array()) tensors.push_back(golden_tensor(item));
  return tensors;
}

Tensor weight_of(const Json& list) { return list.is_null() ? Tensor() : golden_tensor(list[0]); }

// Records the same logs as the Keras callback that made the golden values.
class Recorder : public Callback {
 public:
  struct Call {
    std::string event;
    int64_t index;
    Logs logs;
  };
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    calls.push_back({"train_batch_end", batch, logs});
  }
  void on_test_batch_end(int64_t batch, const Logs& logs) override {
    calls.push_back({"test_batch_end", batch, logs});
  }
  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    calls.push_back({"epoch_end", epoch, logs});
  }
  std::vector<Call> calls;
};

std::optional<int64_t> integer(const Json& arguments, const char* name) {
  const Json* value = arguments.find(name);
  return value && !value->is_null() ? std::optional(value->as_int()) : std::nullopt;
}

FitOptions fit_options(const Json& item) {
  const Json& arguments = item.at("fit_arguments");
  const Json& data = item.at("data");
  FitOptions options = {.batch_size = integer(arguments, "batch_size"),
                        .epochs = arguments.at("epochs").as_int(),
                        .verbose = 0,
                        .shuffle = arguments.at("shuffle").as_bool(),
                        .sample_weight = weight_of(data.at("sample_weight")),
                        .initial_epoch = integer(arguments, "initial_epoch").value_or(0),
                        .steps_per_epoch = integer(arguments, "steps_per_epoch"),
                        .validation_batch_size = integer(arguments, "validation_batch_size")};
  options.validation_freq = static_cast<int>(integer(arguments, "validation_freq").value_or(1));
  if (const Json* split = arguments.find("validation_split")) {
    options.validation_split = split->as_double();
  }
  if (const Json* weights = arguments.find("class_weight")) {
    for (const Json& pair : weights->as_array()) {
      options.class_weight[pair[0].as_int()] = pair[1].as_double();
    }
  }
  if (!data.at("val_x").is_null()) {
    options.validation_data =
        ValidationData(tensors_of(data.at("val_x")), tensors_of(data.at("val_y")),
                       weight_of(data.at("val_sample_weight")));
  }
  return options;
}

void check_variables(const std::vector<Variable>& variables, const Json& expected) {
  REQUIRE(variables.size() == expected.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    CAPTURE(variables[i].path());
    CHECK(variables[i].path() == expected[i].at("path").as_string());
    CHECK(variables[i].name() == expected[i].at("name").as_string());
    CHECK(variables[i].trainable() == expected[i].at("trainable").as_bool());
    CHECK(difference(variables[i].stored(), expected[i], kClose) == "");
  }
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.as_object()) names.push_back(name);
  return sorted(std::move(names));
}

void check_number(double actual, const Json& expected) {
  const double wanted = test::golden_number(expected);
  const double allowed = kClose.absolute + kClose.relative * std::abs(wanted);
  CAPTURE(actual);
  CAPTURE(wanted);
  CHECK(std::abs(actual - wanted) <= allowed);
}

void check_logs(const Logs& logs, const Json& expected) {
  REQUIRE(sorted(logs.names()) == keys_of(expected));
  for (const auto& [key, value] : expected.as_object()) {
    const std::string name = key;
    CAPTURE(name);
    check_number(logs.at(name), value.is_array() ? value[0] : value);
  }
}

void check_history(const History& history, const Json& expected) {
  CHECK(history.epoch == expected.at("epoch").as_ints());
  const Json& figures = expected.at("history");
  REQUIRE(sorted(history.names()) == keys_of(figures));
  for (const auto& [key, values] : figures.as_object()) {
    const std::string name = key;
    CAPTURE(name);
    const std::vector<double>& actual = history.at(name);
    REQUIRE(actual.size() == values.size());
    for (size_t i = 0; i < actual.size(); ++i) check_number(actual[i], values[i]);
  }
}

void check_calls(const std::vector<Recorder::Call>& calls, const Json& expected) {
  REQUIRE(calls.size() == expected.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(i);
    CHECK(calls[i].event == expected[i].at("event").as_string());
    CHECK(calls[i].index == expected[i].at("index").as_int());
    check_logs(calls[i].logs, expected[i].at("logs"));
  }
}

// Checks the metrics and predictions of the trained model.
void check_trained(Model& model, const Json& item) {
  const Json& data = item.at("data");
  const int64_t batch_size = item.at("evaluate_batch_size").as_int();
  const Tensors x = tensors_of(data.at("x"));
  check_logs(model.evaluate(x, tensors_of(data.at("y")),
                            {.batch_size = batch_size,
                             .verbose = 0,
                             .sample_weight = weight_of(data.at("sample_weight"))}),
             item.at("evaluate"));
  const Tensors predicted = model.predict(x, {.batch_size = batch_size, .verbose = 0});
  const Json& expected = item.at("predict");
  REQUIRE(predicted.size() == expected.size());
  for (size_t i = 0; i < predicted.size(); ++i) {
    CHECK(difference(predicted[i], expected[i], kClose) == "");
  }
}

// Loads the model of a case, with the initial weights of Keras's model.
Model load(const Json& item, const Tensors& x) {
  const LayerHandle layer = layer_from_json(Json::parse(item.at("json").as_string()));
  Model model(dynamic_cast<const Model&>(layer.get()));
  std::vector<Shape> shapes;
  for (const Tensor& input : x) {
    shapes.push_back(input.shape());
    shapes.back()[0] = kUnknown;
  }
  model.ensure_built(shapes);
  std::vector<Tensor> weights;
  for (const Json& weight : item.at("initial_weights").as_array()) {
    weights.push_back(golden_tensor(weight));
  }
  model.set_weights(weights);
  return model;
}

void check_case(const Json& item, const Way& way) {
  const Json& data = item.at("data");
  const Tensors x = tensors_of(data.at("x"));
  Model model = load(item, x);
  CompileOptions compile = compile_options_from_json(item.at("compile_config"));
  compile.run_eagerly = way.run_eagerly;
  compile.jit_compile = way.jit_compile;
  model.compile(compile);
  const auto recorder = std::make_shared<Recorder>();
  FitOptions options = fit_options(item);
  options.callbacks = {CallbackHandle(recorder)};
  const History history = model.fit(x, tensors_of(data.at("y")), options);
  check_history(history, item.at("history"));
  check_calls(recorder->calls, item.at("logs"));
  check_variables(model.weights(), item.at("final_weights"));
  check_variables(model.optimizer().variables(), item.at("optimizer_variables"));
  check_trained(model, item);
}

bool is_trained(const Json& item) { return item.at("kind").as_string() == "training"; }

}  // namespace

TEST_CASE("models train, evaluate and predict as Keras's do") {
  for (const Way& way : kWays) {
    CAPTURE(way.name);
    int trained = 0;
    for (const Json& item : test::golden_cases("models").as_array()) {
      if (!is_trained(item)) continue;
      CAPTURE(item.at("name").as_string());
      check_case(item, way);
      ++trained;
    }
    CHECK(trained == 18);
  }
}

// train_callbacks checks their summaries.
TEST_CASE("models without recorded training load") {
  int loaded = 0;
  for (const Json& item : test::golden_cases("models").as_array()) {
    if (is_trained(item)) continue;
    CAPTURE(item.at("name").as_string());
    const Json config = Json::parse(item.at("json").as_string());
    CHECK(layer_from_json(config).name() == config.at("config").at("name").as_string());
    ++loaded;
  }
  CHECK(loaded == 6);
}
