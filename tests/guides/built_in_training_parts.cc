// SPDX-License-Identifier: Apache-2.0
// Guide: training and evaluation with the built-in methods; custom losses, metrics and models.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

class ActivityRegularizationLayer : public Layer {
 public:
  Tensor call(const Tensor& inputs, const CallArgs&) override {
    add_loss(ops::sum(inputs) * 0.1);
    return inputs;
  }
};

class LogisticEndpoint : public Layer {
 public:
  using Layer::Layer;

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    Tensor targets = inputs[0], logits = inputs[1];
    Tensor loss = loss_fn_(targets, logits);
    add_loss(loss);
    return ops::softmax(logits);
  }

 private:
  losses::BinaryCrossentropy loss_fn_{{.from_logits = true}};
};

}  // namespace

TEST_CASE("training_endpoint") {
  const Golden golden("training_endpoint");
  {
    Tensor inputs = Input({.shape = {784}, .name = "digits"});
    Tensor x = layers::Dense({.units = 64, .activation = "relu", .name = "dense_1"})(inputs);
    x = make_layer<ActivityRegularizationLayer>()(x);
    Tensor outputs = layers::Dense({.units = 10, .name = "predictions"})(x);
    Model model(inputs, outputs);
    initialize(model, 210);
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 1e-4}),
                   .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
    golden.check("regularized",
                 model.fit(values({64, 784}, 211), labels(64, 10, 212),
                           {.batch_size = 16, .epochs = 1, .verbose = 0, .shuffle = false}));
  }
  Tensor inputs = Input({.shape = {3}, .name = "inputs"});
  Tensor targets = Input({.shape = {10}, .name = "targets"});
  Tensor logits = layers::Dense({.units = 10})(inputs);
  Tensor predictions =
      make_layer<LogisticEndpoint>(LayerOptions{.name = "predictions"})({targets, logits});
  Model model({inputs, targets}, predictions);
  initialize(model, 213);
  model.compile({.optimizer = "adam"});  // No loss argument!
  Tensors data = {{"inputs", values({3, 3}, 214)}, {"targets", ops::eye(10)(Slice(3))}};
  golden.check("endpoint", model.fit(data, {.epochs = 1, .verbose = 0}));
}

namespace {

Model two_headed_model() {
  Tensor image_input = Input({.shape = {32, 32, 3}, .name = "img_input"});
  Tensor timeseries_input = Input({.shape = {kUnknown, 10}, .name = "ts_input"});

  Tensor x1 = layers::Conv2D({.filters = 3, .kernel_size = 3})(image_input);
  x1 = layers::GlobalMaxPooling2D()(x1);
  Tensor x2 = layers::Conv1D({.filters = 3, .kernel_size = 3})(timeseries_input);
  x2 = layers::GlobalMaxPooling1D()(x2);
  Tensor x = layers::concatenate({x1, x2});

  Tensor score_output = layers::Dense({.units = 1, .name = "score_output"})(x);
  Tensor class_output = layers::Dense({.units = 5, .name = "class_output"})(x);
  Model model({image_input, timeseries_input}, {score_output, class_output});
  initialize(model, 220);
  return model;
}

}  // namespace

TEST_CASE("training_two_heads") {
  const Golden golden("training_two_heads");
  Tensor img_data = values({20, 32, 32, 3}, 221);
  Tensor ts_data = values({20, 20, 10}, 222);
  Tensor score_targets = values({20, 1}, 223);
  Tensor class_targets = ops::one_hot(labels(20, 5, 224), 5);
  const FitOptions twice = {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false};

  Model lists = two_headed_model();
  lists.compile({
      .optimizer = optimizers::RMSprop({.learning_rate = 1e-3}),
      .loss = {losses::MeanSquaredError(), losses::CategoricalCrossentropy({.from_logits = true})},
      .metrics = {{metrics::MeanAbsolutePercentageError(), metrics::MeanAbsoluteError()},
                  {metrics::CategoricalAccuracy()}},
  });
  golden.check("lists", lists.fit({img_data, ts_data}, {score_targets, class_targets}, twice));

  Model names = two_headed_model();
  names.compile({
      .optimizer = optimizers::RMSprop({.learning_rate = 1e-3}),
      .loss = {{"score_output", losses::MeanSquaredError()},
               {"class_output", losses::CategoricalCrossentropy({.from_logits = true})}},
      .loss_weights = {{"score_output", 2.0}, {"class_output", 1.0}},
      .metrics = {{"score_output",
                   {metrics::MeanAbsolutePercentageError(), metrics::MeanAbsoluteError()}},
                  {"class_output", {metrics::CategoricalAccuracy()}}},
  });
  golden.check(
      "names",
      names.fit({{"img_input", img_data}, {"ts_input", ts_data}},
                {{"score_output", score_targets}, {"class_output", class_targets}}, twice));

  Model one = two_headed_model();
  one.compile({
      // Only the class output is trained.
      .optimizer = optimizers::RMSprop({.learning_rate = 1e-3}),
      .loss = {{"class_output", losses::CategoricalCrossentropy({.from_logits = true})}},
  });
  golden.check("one", one.fit({img_data, ts_data}, {score_targets, class_targets},
                              {.batch_size = 8, .epochs = 1, .verbose = 0, .shuffle = false}));
}

namespace {

class CustomMSE : public LossImpl {
 public:
  explicit CustomMSE(double regularization_factor = 0.1)
      : LossImpl("custom_mse"), regularization_factor_(regularization_factor) {}

  Tensor call(const Tensor& y_true, const Tensor& y_pred) const override {
    Tensor mse = ops::mean(ops::square(y_true - y_pred), -1);
    Tensor reg = ops::mean(ops::square(0.5 - y_pred), -1);
    return mse + reg * regularization_factor_;
  }

 private:
  double regularization_factor_;
};

class CategoricalTruePositives : public MetricImpl {
 public:
  CategoricalTruePositives() : MetricImpl("categorical_true_positives") {}

  void update_state(const Tensor& y_true, const Tensor& y_pred,
                    const Tensor& sample_weight) override {
    Tensor predicted = ops::reshape(ops::argmax(y_pred, 1), {-1, 1});
    Tensor matches = ops::equal(ops::cast(y_true, "int32"), ops::cast(predicted, "int32"));
    matches = ops::cast(matches, "float32");
    if (sample_weight.defined()) {
      matches = ops::multiply(matches, ops::cast(sample_weight, "float32"));
    }
    true_positives_.assign_add(ops::sum(matches));
  }

  Tensor result() const override { return true_positives_; }

 private:
  Variable true_positives_ = add_variable({}, "ctp");
};

Model classifier() {
  Tensor inputs = Input({.shape = {784}, .name = "digits"});
  Tensor x = layers::Dense({.units = 64, .activation = "relu", .name = "dense_1"})(inputs);
  x = layers::Dense({.units = 64, .activation = "relu", .name = "dense_2"})(x);
  Model model(inputs,
              layers::Dense({.units = 10, .activation = "softmax", .name = "predictions"})(x));
  initialize(model, 200);
  return model;
}

}  // namespace

TEST_CASE("a custom loss class") {
  const Golden golden("training_custom_losses");
  Model model = classifier();
  model.compile({.optimizer = optimizers::Adam(), .loss = make_loss<CustomMSE>()});
  golden.check("class", model.fit(values({48, 784}, 205), ops::one_hot(labels(48, 10, 206), 10),
                                  {.batch_size = 16, .epochs = 1, .verbose = 0, .shuffle = false}));
}

TEST_CASE("training_custom_metric") {
  const Golden golden("training_custom_metric");
  Model model = classifier();
  model.compile({
      .optimizer = optimizers::RMSprop({.learning_rate = 1e-3}),
      .loss = losses::SparseCategoricalCrossentropy(),
      .metrics = {make_metric<CategoricalTruePositives>()},
  });
  golden.check("history",
               model.fit(values({64, 784}, 207), ops::reshape(labels(64, 10, 208), {64, 1}),
                         {.batch_size = 16, .epochs = 3, .verbose = 0, .shuffle = false}));
}
