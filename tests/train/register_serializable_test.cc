// SPDX-License-Identifier: Apache-2.0
// User-defined classes of every kind, saved to a file and loaded again.
#include "framework/train/register_serializable.h"

#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;

namespace {

class Scale : public Layer {
 public:
  explicit Scale(double factor, const LayerOptions& options = {})
      : Layer(options), factor_(factor) {}
  Tensor call(const Tensor& x, const CallArgs&) override { return x * factor_; }
  std::string class_name() const override { return "register_test>Scale"; }
  Json get_config() const override {
    Json config = Layer::get_config();
    config.set("factor", factor_);
    return config;
  }

 private:
  double factor_;
};

// Derives from `Base` and has a number.
template <class Base>
class Numbered : public Base {
 public:
  template <class... Args>
  Numbered(std::string name, double number, Args&&... args)
      : Base(std::forward<Args>(args)...), name_(std::move(name)), number_(number) {}
  std::string class_name() const override { return "register_test>" + name_; }
  Json get_config() const override { return Json::object({{"number", number_}}); }

 protected:
  double number() const { return number_; }

 private:
  std::string name_;
  double number_;
};

class Filled : public Numbered<InitializerImpl> {
 public:
  explicit Filled(double value) : Numbered("Filled", value) {}
  Tensor operator()(const Shape& shape, DType dtype) const override {
    return initializers::Constant(number())(shape, dtype);
  }
};

class Penalty : public Numbered<RegularizerImpl> {
 public:
  explicit Penalty(double factor) : Numbered("Penalty", factor) {}
  Tensor operator()(const Tensor& x) const override { return ops::sum(ops::abs(x)) * number(); }
};

class AtMost : public Numbered<ConstraintImpl> {
 public:
  explicit AtMost(double most) : Numbered("AtMost", most) {}
  Tensor operator()(const Tensor& weight) const override {
    return ops::minimum(weight, Tensor::scalar(static_cast<float>(number())));
  }
};

class Halving : public Numbered<ScheduleImpl> {
 public:
  explicit Halving(double first) : Numbered("Halving", first) {}
  Tensor operator()(const Tensor& step) const override {
    return number() / (1.0 + ops::cast(step, DType::Float32));
  }
};

class Distance : public LossImpl {
 public:
  explicit Distance(double power) : LossImpl("distance"), power_(power) {}
  Tensor call(const Tensor& truth, const Tensor& prediction) const override {
    return ops::mean(ops::power(ops::abs(truth - prediction), Tensor::scalar(float(power_))), -1);
  }
  std::string class_name() const override { return "register_test>Distance"; }
  Json get_config() const override { return Json::object({{"power", power_}}); }

 private:
  double power_;
};

class Above : public MetricImpl {
 public:
  explicit Above(double threshold) : MetricImpl("above"), threshold_(threshold) {}
  void update_state(const Tensor&, const Tensor& y_pred, const Tensor&) override {
    count_.assign(count_.value() + ops::sum(ops::cast(y_pred > threshold_, DType::Float32)));
  }
  Tensor result() const override { return count_.value(); }
  std::string class_name() const override { return "register_test>Above"; }
  Json get_config() const override { return Json::object({{"threshold", threshold_}}); }

 private:
  double threshold_;
  Variable count_ = add_variable({}, "count");
};

class SignSGD : public OptimizerImpl {
 public:
  explicit SignSGD(const LearningRate& rate)
      : OptimizerImpl("register_test>SignSGD", {.learning_rate = rate}) {}

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override { return {}; }
  void update_step(const Tensor& gradient, const Variable& variable, size_t,
                   std::span<const Tensor> terms) override {
    variable.assign(variable.value() - terms[0] * ops::sign(gradient));
  }
};

void register_all_kinds() {
  static bool registered = false;
  if (std::exchange(registered, true)) return;
  register_serializable("register_test>Scale", [](const Json& config) {
    return make_layer<Scale>(config.at("factor").as_double(), LayerOptions::from_config(config));
  });
  register_serializable("register_test>Filled",
                        [](const Json& config) { return Filled(config.at("number").as_double()); });
  register_serializable("register_test>Penalty", [](const Json& config) -> Regularizer {
    return Penalty(config.at("number").as_double());
  });
  register_serializable("register_test>AtMost",
                        [](const Json& config) { return AtMost(config.at("number").as_double()); });
  register_serializable("register_test>Halving", [](const Json& config) {
    return LearningRate(std::make_shared<Halving>(config.at("number").as_double()));
  });
  register_serializable("register_test>Distance", [](const Json& config) {
    return make_loss<Distance>(config.at("power").as_double());
  });
  register_serializable("register_test>Above", [](const Json& config) {
    return make_metric<Above>(config.at("threshold").as_double());
  });
  register_serializable("register_test>SignSGD", [](const Json& config) {
    LearningRate rate = 0.0;
    set_from_config(config.at("learning_rate"), rate);
    return Optimizer(std::make_shared<SignSGD>(rate));
  });
  register_serializable("register_test>bent",
                        [](const Tensor& x) { return ops::maximum(x, x * 0.25); });
  register_serializable("register_test>cubed", [](const Tensor& y_true, const Tensor& y_pred) {
    return ops::mean(ops::power(ops::absolute(y_true - y_pred), 3.0), -1);
  });
}

}  // namespace

TEST_CASE("a model of a program's own classes is saved, loaded, and goes on as it would have") {
  register_all_kinds();
  Sequential model({Input({.shape = {3}}),
                    layers::Dense({.units = 4,
                                   .activation = "register_test>bent",
                                   .kernel_initializer = Filled(0.125),
                                   .kernel_regularizer = Penalty(0.5),
                                   .kernel_constraint = AtMost(0.25)}),
                    make_layer<Scale>(3.0), layers::Dense({.units = 1})});
  const LearningRate rate(std::make_shared<Halving>(0.25));
  model.compile({.optimizer = Optimizer(std::make_shared<SignSGD>(rate)),
                 .loss = make_loss<Distance>(3.0),
                 .metrics = {make_metric<Above>(0.5)}});
  const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, -4, 5, 6, 7, -8, 9, 1, 1, -2}, {4, 3});
  const Tensor y = Tensor::from(std::vector<float>{1, 0, 2, 0}, {4, 1});
  const FitOptions quietly{.batch_size = 2, .epochs = 2, .verbose = 0, .shuffle = false};
  model.fit(x, y, quietly);

  const test::Scratch folder;
  model.save(folder.path("own.keras"));
  Model loaded = load_model(folder.path("own.keras"));
  const Logs before = model.evaluate(x, y, {.verbose = 0});
  const Logs after = loaded.evaluate(x, y, {.verbose = 0});
  for (const char* name : {"loss", "above"}) CHECK(after.at(name) == before.at(name));
  model.fit(x, y, quietly);
  loaded.fit(x, y, quietly);
  const auto expected = model.weights();
  const auto weights = loaded.weights();
  REQUIRE(weights.size() == expected.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    CHECK(weights[i].value().to_vector<float>() == expected[i].value().to_vector<float>());
  }
}

TEST_CASE("a function is a loss and a metric, under its name in files") {
  register_all_kinds();
  Sequential model({Input({.shape = {3}}), layers::Dense({.units = 1})});
  model.compile({.loss = "register_test>cubed", .metrics = {"register_test>cubed"}});
  const Tensor x = ops::ones({4, 3});
  const Tensor y = ops::zeros({4, 1});
  const Logs before = model.evaluate(x, y, {.verbose = 0});
  CHECK(before.size() == 2);
  const test::Scratch folder;
  model.save(folder.path("first.keras"));
  load_model(folder.path("first.keras")).save(folder.path("second.keras"));
  const Logs after = load_model(folder.path("second.keras")).evaluate(x, y, {.verbose = 0});
  for (const char* name : {"loss", "cubed"}) CHECK(after.at(name) == before.at(name));
}

TEST_CASE("a function that can't be both a loss and a metric is neither") {
  register_serializable("register_test>half", [](const Json&) { return make_metric<Above>(0.5); });
  const auto function = [](const Tensor& y_true, const Tensor&) { return y_true; };
  CHECK(test::error_of([&] {
          register_serializable("register_test>half", function);
        }).starts_with("AlreadyExists: The metric 'register_test>half' is registered already."));
  CHECK(loss_registry().find("register_test>half") == nullptr);
}

TEST_CASE("a layer of a program's own comes back with its name, its dtype, and frozen") {
  register_all_kinds();
  const Tensor input = Input({.shape = {3}, .dtype = DType::Float64});
  const auto scale =
      make_layer<Scale>(3.0, LayerOptions{.name = "first", .dtype = "float64", .trainable = false});
  Model model(input, scale(scale(input)));
  const test::Scratch folder;
  model.save(folder.path("named.keras"));
  const Model loaded = load_model(folder.path("named.keras"));
  const LayerHandle layer = loaded.get_layer("first");
  CHECK_FALSE(layer.get().trainable());
  CHECK(layer.get().dtype_policy().name() == "float64");
}

TEST_CASE("a name is registered once") {
  register_all_kinds();
  CHECK(
      test::error_of([] {
        register_serializable("register_test>AtMost", [](const Json&) { return AtMost(1.0); });
      }) ==
      "AlreadyExists: The constraint 'register_test>AtMost' is registered already. Choose another "
      "name.");
}

namespace {

// From Keras's guide to customizing saving: a number next to the weights, and a separate file.
class WithParts : public Layer, public HasSavedParts {
 public:
  explicit WithParts(std::string note = "", const LayerOptions& options = {})
      : Layer(options), parts_(std::make_shared<Parts>()) {
    parts_->note = std::move(note);
    parts_->shift = add_state("shift", ops::zeros({2}));
  }
  void build(const Shape& input_shape) override {
    gain_ = add_weight({.shape = {input_shape.back()}, .initializer = "ones", .name = "gain"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override {
    return x * gain_ + parts_->shift + static_cast<double>(parts_->note.size());
  }
  std::string class_name() const override { return "register_test>WithParts"; }
  std::shared_ptr<SavedParts> saved_parts() const override { return parts_; }
  const Variable& shift() const { return parts_->shift; }

 private:
  struct Parts : SavedParts {
    Values saved_values() const override { return {{"shift", shift.value()}}; }
    void load_values(const Values& values) override { shift.assign(values.at(0).second); }
    Assets saved_assets() const override { return {{"note.txt", note}}; }
    std::vector<std::string> asset_names() const override { return {"note.txt"}; }
    void load_assets(const Assets& assets) override { note = assets.at(0).second; }
    std::string note;
    Variable shift;
  };
  std::shared_ptr<Parts> parts_;
  Variable gain_;
};

}  // namespace

TEST_CASE("values and files of a program's own class are saved beside its weights") {
  register_serializable("register_test>WithParts", [](const Json& config) {
    return make_layer<WithParts>("", LayerOptions::from_config(config));
  });
  const auto layer = make_layer<WithParts>("hello");
  const Tensor inputs = Input({.shape = {2}});
  Model model(inputs, layer(inputs));
  layer->shift().assign(Tensor::from({0.25F, -2.0F}));
  const test::Scratch folder;
  model.save(folder.path("parts.keras"));
  const Tensor x = Tensor::from({1.0F, 2.0F}, {1, 2});
  CHECK(Tensor(load_model(folder.path("parts.keras"))(x)).to_vector<float>() ==
        std::vector<float>{6.25F, 5.0F});
}
