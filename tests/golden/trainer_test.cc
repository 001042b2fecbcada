// SPDX-License-Identifier: Apache-2.0
// The logs of fit and evaluate compared with real Keras. golden_trainer.py has the same models.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/golden/golden.h"

namespace cornu {
namespace {

using test::golden_tensor;

class Plain : public Model {
 public:
  Plain() : dense_(track(layers::Dense({.units = 1}))) {}
  Tensor call(const Tensor& x, const CallArgs& args) override { return dense_(x, args); }

 private:
  layers::Dense dense_;
};

class Compiled : public Plain {
 public:
  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    const Tensor y_pred = (*this)(data.x, {.training = true});
    const Tensor loss = compute_loss(data.x, data.y, y_pred, data.sample_weight);
    optimizer().apply(tape.gradient(loss, trainable_variables()), trainable_variables());
    NamedValues<Tensor> results;
    for (const Metric& metric : metrics()) {
      if (metric.name() == "loss") {
        metric.update_state(loss);
      } else {
        metric.update_state(data.y.single(), y_pred);
      }
      results[metric.name()] = metric.result();
    }
    return results;
  }
};

class Lower : public Plain {
 public:
  std::vector<Metric> metrics() const override { return {loss_tracker_, mae_metric_, count_}; }
  NamedValues<Tensor> train_step(const Batch& data) override { return step(data, true); }
  NamedValues<Tensor> test_step(const Batch& data) override { return step(data, false); }

 private:
  NamedValues<Tensor> step(const Batch& data, bool training) {
    GradientTape tape;
    const Tensor y_pred = (*this)(data.x, {.training = training});
    const Tensor loss = ops::mean(ops::square(data.y.single() - y_pred), {-1});
    if (training) {
      optimizer().apply_gradients(tape.gradient(loss, trainable_variables()),
                                  trainable_variables());
    }
    loss_tracker_.update_state(loss);
    mae_metric_.update_state(data.y.single(), y_pred);
    count_.update_state(1.0F);
    NamedValues<Tensor> results;
    for (const Metric& metric : metrics()) results[metric.name()] = metric.result();
    return results;
  }

  metrics::Mean loss_tracker_ = metrics::Mean({.name = "loss"});
  metrics::MeanAbsoluteError mae_metric_ = metrics::MeanAbsoluteError({.name = "mae"});
  metrics::Sum count_ = metrics::Sum({.name = "count"});
};

class Tracking : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override {
    passed_.update_state(x);
    return x;
  }

 private:
  metrics::Mean passed_ = track(metrics::Mean({.name = "passed"}));
};

class Tracked : public Plain {
 public:
  Tensor call(const Tensor& x, const CallArgs& args) override {
    return Plain::call(inner_(x, args), args);
  }
  NamedValues<Tensor> compute_metrics(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                                      const Tensors& sample_weight) override {
    steps_.update_state(1.0F);
    return Plain::compute_metrics(x, y, y_pred, sample_weight);
  }

 private:
  LayerRef<Tracking> inner_ = track(make_layer<Tracking>());
  metrics::Sum steps_ = track(metrics::Sum({.name = "steps"}));
};

class Two : public Model {
 public:
  explicit Two(bool named)
      : a_(track(layers::Dense({.units = 1}))),
        b_(track(layers::Dense({.units = 1}))),
        named_(named) {}
  void build_list(const std::vector<Shape>&) override {}
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    const Tensor a = a_(inputs, args);
    const Tensor b = b_(inputs, args);
    return named_ ? Tensors{{"u", a}, {"v", b}} : Tensors{a, b};
  }

 private:
  layers::Dense a_;
  layers::Dense b_;
  bool named_;
};

Model functional() {
  const Tensor x = Input({.shape = {3}});
  return Model(x, {layers::Dense({.units = 1, .name = "a"})(x),
                   layers::Dense({.units = 1, .name = "b"})(x)});
}

Json golden_case(const std::string& name) {
  const Json cases = test::golden_cases("trainer");
  for (const Json& item : cases.as_array()) {
    if (item.at("name").as_string() == name) return item;
  }
  FAIL("no golden case " << name);
  return nullptr;
}

std::vector<std::string> names_in(const Json& object) {
  std::vector<std::string> names;
  for (const auto& entry : object.as_object()) names.push_back(entry.first);
  return names;
}

// Trains and evaluates like golden_trainer.py, and compares everything that is reported.
History check_compiled(const std::string& name, Model& model,
                       const std::vector<std::string>& output_names = {}) {
  CAPTURE(name);
  const Json item = golden_case(name);
  const Tensor x = golden_tensor(item.at("x"));
  std::vector<Tensor> y;
  std::vector<Tensor> validation_y;
  for (const Json& target : item.at("y").as_array()) {
    y.push_back(golden_tensor(target));
    validation_y.push_back(y.back().rows(0, 5));
  }
  auto targets = [&](const std::vector<Tensor>& list) {
    return output_names.empty() ? Tensors(list)
                                : Tensors{{output_names[0], list[0]}, {output_names[1], list[1]}};
  };
  const bool of_texts = x.dtype() == DType::String;
  const Tensor validation_x = of_texts ? x.rows(0, 5) : x.rows(0, 5) + 1.0F;
  std::vector<Tensor> start;
  for (const Json& weight : item.at("start").as_array()) start.push_back(golden_tensor(weight));
  model(x.rows(0, 1));
  model.set_weights(start);

  const History history = model.fit(x, targets(y),
                                    {.batch_size = 4,
                                     .epochs = 3,
                                     .verbose = 0,
                                     .validation_data = {validation_x, targets(validation_y)},
                                     .shuffle = false});
  const Json& expected = item.at("history");
  for (const auto& entry : expected.as_object()) {
    const std::string& figure = entry.first;
    const Json& values = entry.second;
    CAPTURE(figure);
    REQUIRE(history.contains(figure));
    REQUIRE(history[figure].size() == values.size());
    for (size_t epoch = 0; epoch < values.size(); ++epoch) {
      CHECK(history[figure][epoch] == doctest::Approx(values[epoch].as_double()).epsilon(1e-5));
    }
  }
  CHECK(history.size() == expected.size());
  const Logs logs =
      model.evaluate(validation_x, targets(validation_y), {.batch_size = 4, .verbose = 0});
  for (const auto& entry : item.at("evaluated").as_object()) {
    const std::string& figure = entry.first;
    CAPTURE(figure);
    CHECK(logs[figure] == doctest::Approx(entry.second.as_double()).epsilon(1e-5));
  }
  CHECK(logs.size() == item.at("evaluated").size());
  return history;
}

History check_report(const std::string& name, Model& model, CompileOptions options,
                     const std::vector<std::string>& output_names = {}) {
  options.optimizer = optimizers::SGD({.learning_rate = 0.05});
  model.compile(options);
  return check_compiled(name, model, output_names);
}

TEST_CASE("a custom train_step sees and reports the compiled metrics") {
  Compiled model;
  check_report("compiled_metrics", model, {.loss = "mse", .metrics = {"mae"}});
}

TEST_CASE("models that begin with texts report what Keras's do") {
  for (const bool with_input : {true, false}) {
    Sequential model;
    if (with_input) model.add(Input({.shape = {1}, .dtype = "string"}));
    model.add(layers::TextVectorization({.vocabulary = {"the", "cat", "a", "dog"}}));
    model.add(layers::Embedding({.input_dim = 6, .output_dim = 3}));
    model.add(layers::GlobalAveragePooling1D());
    model.add(layers::Dense({.units = 1}));
    check_report(with_input ? "texts" : "texts_without_input", model,
                 {.loss = "mse", .metrics = {"mae"}});
  }
}

TEST_CASE("metrics that an override returns are reset before each epoch and evaluation") {
  Lower model;
  check_report("own_metrics", model, {});
}

TEST_CASE("metrics that a model and its layers track are reported and reset") {
  Tracked model;
  check_report("tracked_metrics", model, {.loss = "mse", .metrics = {"mae"}});
}

TEST_CASE("SwapEMAWeights puts averages into the model where Keras's does") {
  for (const char* name : {"averages_in_tests", "averages_on_epochs"}) {
    CAPTURE(name);
    const Json item = golden_case(name);
    const Tensor x = golden_tensor(item.at("x"));
    const Tensor y = golden_tensor(item.at("y"));
    constexpr test::Tolerance kClose = {.relative = 1e-5, .absolute = 1e-6};
    Plain model;
    auto check_weights = [&](const Json& expected) {
      const std::vector<Tensor> weights = model.get_weights();
      for (size_t i = 0; i < weights.size(); ++i) {
        CHECK(test::difference(weights[i], expected[i], kClose) == "");
      }
    };
    model(x.rows(0, 1));
    std::vector<Tensor> start;
    for (const Json& weight : item.at("start").as_array()) start.push_back(golden_tensor(weight));
    model.set_weights(start);
    model.compile({.optimizer = optimizers::SGD(
                       {.learning_rate = 0.05, .use_ema = true, .ema_momentum = 0.5}),
                   .loss = "mse"});
    const callbacks::SwapEMAWeights swap({.swap_on_epoch = item.at("swap_on_epoch").as_bool()});
    const callbacks::LambdaCallback look({.on_epoch_end = [&](int64_t epoch, const Logs&) {
      check_weights(item.at("seen")[static_cast<size_t>(epoch)]);
    }});
    const History history = model.fit(x, y,
                                      {.batch_size = 4,
                                       .epochs = 3,
                                       .verbose = 0,
                                       .callbacks = {swap, look},
                                       .validation_data = {x.rows(0, 5) + 1.0F, y.rows(0, 5)},
                                       .shuffle = false});
    for (const char* figure : {"loss", "val_loss"}) {
      CAPTURE(figure);
      for (size_t epoch = 0; epoch < 3; ++epoch) {
        const double expected = item.at("history").at(figure)[epoch].as_double();
        CHECK(history[figure][epoch] == doctest::Approx(expected).epsilon(1e-5));
      }
    }
    check_weights(item.at("end"));
  }
}

TEST_CASE("losses and metrics of several outputs have Keras's names and values") {
  const auto check_functional = [](const std::string& name, const CompileOptions& options) {
    Model model = functional();
    check_report(name, model, options);
  };
  check_functional("one_loss", {.loss = "mse"});
  check_functional("losses", {.loss = {"mse", "mae"}, .loss_weights = {1.0, 0.5}});
  check_functional("half_a_loss", {.loss = {"mse", Loss()}});
  check_functional("metrics", {.loss = "mse", .metrics = {"mae", "mse"}});
  check_functional("metric_lists", {.loss = "mse", .metrics = {{"mae", "mse"}, {}}});
  check_functional("metrics_by_name", {.loss = "mse", .metrics = {{"b", {"mae"}}}});
  check_functional(
      "weighted",
      {.loss = "mse", .metrics = {"mae", "mae"}, .weighted_metrics = {"mae", {"mae", "mae"}}});
  Two list(false);
  check_report("plain_list", list, {.loss = {"mse", "mae"}, .metrics = {"mae", "mae"}});
  Two named(true);
  check_report("named_outputs", named,
               {.loss = {{"u", "mse"}, {"v", "mae"}}, .metrics = {{"u", {"mae"}}}}, {"u", "v"});
}

TEST_CASE("the history has the metrics of training and validation in the order of their names") {
  Plain model;
  const History history = check_report(
      "weighted_metrics", model, {.loss = "mse", .metrics = {"mae"}, .weighted_metrics = {"mae"}});
  CHECK(history.names() == names_in(golden_case("weighted_metrics").at("history")));
}

TEST_CASE("lists for outputs that are a dictionary follow its sorted keys in a file of Keras's") {
  const std::string json = golden_case("listed_outputs").at("model").as_string();
  Model model = model_from_json(json);
  CHECK(model.outputs().names() == std::vector<std::string>{"v", "u"});
  check_compiled("listed_outputs", model, {"u", "v"});
  // Cornu's file has names, which Keras reads in the same way; so has a copy.
  const Json arguments = Json::parse(model.to_json()).at("compile_config");
  for (const char* name : {"loss", "loss_weights", "metrics", "weighted_metrics"}) {
    CAPTURE(name);
    CHECK(names_in(arguments.at(name)) == std::vector<std::string>{"u", "v"});
  }
  Model copy = clone_model(model);
  check_compiled("listed_outputs", copy, {"u", "v"});
}

TEST_CASE("a file names the outputs in the order in which a program lists their losses") {
  const Tensor x = Input({.shape = {3}});
  Model model(x, {{"v", layers::Dense({.units = 1})(x)}, {"u", layers::Dense({.units = 1})(x)}});
  model.compile({.optimizer = "sgd", .loss = {"mse", "mae"}, .metrics = {{"mape"}, {}}});
  const Json arguments = Json::parse(model.to_json()).at("compile_config");
  CHECK(arguments.at("loss") == Json::object({{"v", "mse"}, {"u", "mae"}}));
  CHECK(names_in(arguments.at("metrics")) == std::vector<std::string>{"v", "u"});
}

// Reports the first sample of each batch.
class First : public Model {
 public:
  First() { set_built(); }
  NamedValues<Tensor> train_step(const Batch& data) override {
    return {{"first", ops::sum(ops::slice_axis(data.x[0], 0, 0, 1))}};
  }
  NamedValues<Tensor> test_step(const Batch& data) override { return train_step(data); }
};

// Batches of two, like pipeline() of golden_trainer.py.
data::Dataset pipeline(const std::string& kind, const Tensor& x) {
  const auto batches = data::Dataset::from_tensor_slices({x, x}).batch(2);
  if (kind == "unknown") {
    return batches.filter([](const Tensor&, const Tensor&) { return Tensor::scalar(true); });
  }
  return batches.repeat(kind == "dataset" ? 1 : kind == "twice" ? 2 : -1);
}

TEST_CASE("an epoch of counted steps begins where the last one ended; an evaluation anew") {
  for (const char* name :
       {"steps_even", "steps_uneven", "steps_too_many", "steps_even_dataset",
        "steps_uneven_dataset", "steps_even_twice", "steps_uneven_twice", "steps_endless",
        "steps_uneven_unknown", "steps_divide", "steps_divide_many"}) {
    CAPTURE(name);
    const Json item = golden_case(name);
    std::vector<double> seen;
    const callbacks::LambdaCallback keep(
        {.on_train_batch_end = [&](int64_t, const Logs& logs) { seen.push_back(logs["first"]); },
         .on_test_batch_end = [&](int64_t, const Logs& logs) { seen.push_back(-logs["first"]); }});
    const int64_t rows = item.at("rows").as_int();
    Tensor x = Tensor::empty({rows, 1}, DType::Float32);
    for (int64_t i = 0; i < rows; ++i) x.mutable_data<float>()[i] = static_cast<float>(i + 1);
    First model;
    model.compile({});
    logging::set_level(logging::Level::Off);
    FitOptions options = {.epochs = item.at("epochs").as_int(),
                          .verbose = 0,
                          .callbacks = {keep},
                          .shuffle = false,
                          .steps_per_epoch = item.at("steps").as_int(),
                          .validation_steps = 2};
    const Json* kind = item.find("kind");
    if (kind && kind->as_string() == "divided") {
      options.validation_data = {x, x};
      model.fit(x, x, options);
      model.evaluate(x, x, {.verbose = 0, .steps = 3, .callbacks = {keep}});
    } else if (kind) {
      options.validation_data = pipeline(kind->as_string(), x);
      model.fit(pipeline(kind->as_string(), x), options);
    } else {
      options.batch_size = 2;
      options.validation_data = {x, x};
      options.validation_batch_size = 2;
      model.fit(x, x, options);
    }
    logging::set_level(logging::Level::Info);
    std::vector<double> expected;
    for (const Json& value : item.at("seen").as_array()) expected.push_back(value.as_double());
    CHECK(seen == expected);
  }
}

}  // namespace
}  // namespace cornu
