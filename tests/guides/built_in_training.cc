// SPDX-License-Identifier: Apache-2.0
// Guide: training and evaluation with the built-in methods.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

Model get_uncompiled_model() {
  Tensor inputs = Input({.shape = {784}, .name = "digits"});
  Tensor x = layers::Dense({.units = 64, .activation = "relu", .name = "dense_1"})(inputs);
  x = layers::Dense({.units = 64, .activation = "relu", .name = "dense_2"})(x);
  Tensor outputs = layers::Dense({.units = 10, .activation = "softmax", .name = "predictions"})(x);
  Model model(inputs, outputs);
  initialize(model, 200);
  return model;
}

Model get_compiled_model() {
  Model model = get_uncompiled_model();
  model.compile({
      .optimizer = "rmsprop",
      .loss = "sparse_categorical_crossentropy",
      .metrics = {"sparse_categorical_accuracy"},
  });
  return model;
}

struct Digits {
  Tensor x, y;
};
Digits digits(int64_t count, uint32_t seed) {
  return {values({count, 784}, seed), labels(count, 10, seed + 1)};
}

}  // namespace

TEST_CASE("training_first_example") {
  const Golden golden("training_first_example");
  auto [x_train, y_train] = digits(64, 201);
  auto [x_val, y_val] = digits(20, 203);
  Model model = get_uncompiled_model();
  model.compile({
      .optimizer = optimizers::RMSprop(),
      .loss = losses::SparseCategoricalCrossentropy(),
      .metrics = {metrics::SparseCategoricalAccuracy()},
  });
  History history = model.fit(x_train, y_train,
                              {.batch_size = 16,
                               .epochs = 2,
                               .verbose = 0,
                               .validation_data = {x_val, y_val},
                               .shuffle = false});
  golden.check("history", history);
  golden.check("results", model.evaluate(x_val, y_val, {.batch_size = 8, .verbose = 0}));
  golden.check("predictions", model.predict(x_val(Slice(3)), {.verbose = 0}));
}

namespace {

Tensor custom_mean_squared_error(const Tensor& y_true, const Tensor& y_pred) {
  return ops::mean(ops::square(y_true - y_pred), -1);
}

}  // namespace

TEST_CASE("training_custom_losses") {
  const Golden golden("training_custom_losses");
  auto [x_train, y_train] = digits(48, 205);
  Tensor y_train_one_hot = ops::one_hot(y_train, 10);
  const FitOptions once = {.batch_size = 16, .epochs = 1, .verbose = 0, .shuffle = false};
  Model model = get_uncompiled_model();
  model.compile({.optimizer = optimizers::Adam(), .loss = custom_mean_squared_error});
  golden.check("function", model.fit(x_train, y_train_one_hot, once));
}

namespace {

class LossHistory : public Callback {
 public:
  void on_train_begin(const Logs&) override { per_batch_losses.clear(); }
  void on_train_batch_end(int64_t, const Logs& logs) override {
    per_batch_losses.push_back(logs["loss"]);
  }
  std::vector<double> per_batch_losses;
};

}  // namespace

TEST_CASE("training_callbacks") {
  const Golden golden("training_callbacks");
  auto [x_train, y_train] = digits(64, 225);
  Model model = get_compiled_model();
  auto losses = std::make_shared<LossHistory>();
  History history = model.fit(
      x_train, y_train,
      {.batch_size = 16,
       .epochs = 20,
       .verbose = 0,
       .callbacks = {callbacks::EarlyStopping({
                         // Stop training when `val_loss` is no longer improving
                         .monitor = "val_loss",
                         // "no longer improving" being defined as "no better than 1e-2 less"
                         .min_delta = 1e-2,
                         // "no longer improving" being further defined as "for at least 2 epochs"
                         .patience = 2,
                     }),
                     losses},
       .validation_split = 0.25,
       .shuffle = false});
  golden.check("epochs", history.epoch.size());
  golden.check("history", history);
  losses->per_batch_losses.resize(6);
  golden.check("first_losses", losses->per_batch_losses);
}

TEST_CASE("training_schedule") {
  const Golden golden("training_schedule");
  optimizers::schedules::ExponentialDecay lr_schedule(
      {.initial_learning_rate = 0.1, .decay_steps = 2, .decay_rate = 0.96, .staircase = true});
  auto [x_train, y_train] = digits(64, 227);
  Model model = get_uncompiled_model();
  model.compile({
      .optimizer = optimizers::SGD({.learning_rate = lr_schedule}),
      .loss = "sparse_categorical_crossentropy",
      .metrics = {"accuracy"},
  });
  golden.check(
      "history",
      model.fit(x_train, y_train, {.batch_size = 16, .epochs = 3, .verbose = 0, .shuffle = false}));
  golden.check("rate", double(model.optimizer().learning_rate()));
}

TEST_CASE("training_datasets") {
  const Golden golden("training_datasets");
  auto [x_train, y_train] = digits(80, 215);
  auto [x_test, y_test] = digits(24, 217);
  Model model = get_compiled_model();
  golden.check("split", model.fit(x_train, y_train,
                                  {.batch_size = 16,
                                   .epochs = 1,
                                   .verbose = 0,
                                   .validation_split = 0.2,
                                   .shuffle = false}));

  auto train_dataset = data::Dataset::from_tensor_slices({x_train, y_train}).batch(16);
  auto test_dataset = data::Dataset::from_tensor_slices({x_test, y_test}).batch(16);
  Model whole = get_compiled_model();
  golden.check("whole", whole.fit(train_dataset, {.epochs = 2, .verbose = 0}));
  golden.check("results", whole.evaluate(test_dataset, {.verbose = 0}));

  Model some = get_compiled_model();
  golden.check("some", some.fit(train_dataset, {.epochs = 1,
                                                .verbose = 0,
                                                .validation_data = test_dataset,
                                                .steps_per_epoch = 3,
                                                .validation_steps = 1}));
}

TEST_CASE("training_weights") {
  const Golden golden("training_weights");
  auto [x_train, y_train] = digits(64, 219);
  std::map<int64_t, double> class_weight;
  for (int i = 0; i < 10; ++i) class_weight[i] = i == 5 ? 2.0 : 1.0;
  Model model = get_compiled_model();
  golden.check(
      "by_class",
      model.fit(x_train, y_train,
                {.batch_size = 16, .verbose = 0, .shuffle = false, .class_weight = class_weight}));

  Tensor sample_weight = ops::where(ops::equal(y_train, 5), 2.0, 1.0);
  Model by_sample = get_compiled_model();
  golden.check(
      "by_sample",
      by_sample.fit(
          x_train, y_train,
          {.batch_size = 16, .verbose = 0, .shuffle = false, .sample_weight = sample_weight}));

  auto train_dataset = data::Dataset::from_tensor_slices({x_train, y_train, sample_weight});
  Model in_dataset = get_compiled_model();
  golden.check("in_dataset", in_dataset.fit(train_dataset.batch(16), {.epochs = 1, .verbose = 0}));
}
