// SPDX-License-Identifier: Apache-2.0
// Guide: writing your own callbacks.
#include <cornu/cornu.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

Sequential get_model() {
  Sequential model;
  model.add(Input({.shape = {20}}));
  model.add(layers::Dense({.units = 1}));
  initialize(model, 500);
  model.compile({
      .optimizer = optimizers::RMSprop({.learning_rate = 0.1}),
      .loss = "mean_squared_error",
      .metrics = {"mean_absolute_error"},
  });
  return model;
}

struct Data {
  Tensor x_train = values({64, 20}, 501);
  Tensor y_train = ops::reshape(ops::cast(labels(64, 10, 502), DType::Float32), {64, 1});
};

class CustomCallback : public Callback {
 public:
  void on_train_begin(const Logs& logs) override { note("Starting training", logs); }
  void on_train_end(const Logs& logs) override { note("Stop training", logs); }
  void on_epoch_begin(int64_t epoch, const Logs& logs) override {
    note(fmt::format("Start epoch {} of training", epoch), logs);
  }
  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    note(fmt::format("End epoch {} of training", epoch), logs);
  }
  void on_test_begin(const Logs& logs) override { note("Start testing", logs); }
  void on_test_end(const Logs& logs) override { note("Stop testing", logs); }
  void on_predict_begin(const Logs& logs) override { note("Start predicting", logs); }
  void on_predict_end(const Logs& logs) override { note("Stop predicting", logs); }
  void on_train_batch_begin(int64_t batch, const Logs& logs) override {
    note(fmt::format("...Training: start of batch {}", batch), logs);
  }
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    note(fmt::format("...Training: end of batch {}", batch), logs);
  }
  void on_test_batch_begin(int64_t batch, const Logs& logs) override {
    note(fmt::format("...Evaluating: start of batch {}", batch), logs);
  }
  void on_test_batch_end(int64_t batch, const Logs& logs) override {
    note(fmt::format("...Evaluating: end of batch {}", batch), logs);
  }
  void on_predict_batch_begin(int64_t batch, const Logs& logs) override {
    note(fmt::format("...Predicting: start of batch {}", batch), logs);
  }
  void on_predict_batch_end(int64_t batch, const Logs& logs) override {
    note(fmt::format("...Predicting: end of batch {}", batch), logs);
  }

  std::vector<std::string> calls;

 private:
  void note(const std::string& what, const Logs& logs) {
    calls.push_back(fmt::format("{}; got log keys: {}", what, fmt::join(logs.names(), " ")));
  }
};

}  // namespace

TEST_CASE("callbacks_calls") {
  const Golden golden("callbacks_calls");
  auto [x_train, y_train] = Data();
  Sequential model = get_model();
  auto callback = std::make_shared<CustomCallback>();
  model.fit(x_train, y_train,
            {.batch_size = 16,
             .epochs = 1,
             .verbose = 0,
             .callbacks = {callback},
             .validation_split = 0.5,
             .shuffle = false});
  model.evaluate(x_train, y_train, {.batch_size = 32, .verbose = 0, .callbacks = {callback}});
  model.predict(x_train, {.batch_size = 32, .verbose = 0, .callbacks = {callback}});
  golden.check("calls", callback->calls);
}

namespace {

class LossAndErrorPrintingCallback : public Callback {
 public:
  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    lines.push_back(
        fmt::format("Up to batch {}, the average loss is {:7.2f}.", batch, logs["loss"]));
  }
  void on_test_batch_end(int64_t batch, const Logs& logs) override {
    lines.push_back(
        fmt::format("Up to batch {}, the average loss is {:7.2f}.", batch, logs["loss"]));
  }
  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    lines.push_back(
        fmt::format("The average loss for epoch {} is {:7.2f} and mean absolute error is {:7.2f}.",
                    epoch, logs["loss"], logs["mean_absolute_error"]));
  }
  std::vector<std::string> lines;
};

}  // namespace

TEST_CASE("callbacks_lines") {
  const Golden golden("callbacks_lines");
  auto [x_train, y_train] = Data();
  Sequential model = get_model();
  auto callback = std::make_shared<LossAndErrorPrintingCallback>();
  model.fit(
      x_train, y_train,
      {.batch_size = 16, .epochs = 2, .verbose = 0, .callbacks = {callback}, .shuffle = false});
  model.evaluate(x_train, y_train, {.batch_size = 32, .verbose = 0, .callbacks = {callback}});
  golden.check("lines", callback->lines);
}

namespace {

// Stop training when the loss is at its min, i.e. the loss stops decreasing.
class EarlyStoppingAtMinLoss : public Callback {
 public:
  explicit EarlyStoppingAtMinLoss(int64_t patience = 0) : patience_(patience) {}

  void on_train_begin(const Logs&) override {
    wait_ = 0;          // The number of epochs it has waited when loss is no longer minimum.
    stopped_epoch = 0;  // The epoch the training stops at.
    best_ = std::numeric_limits<double>::infinity();
  }

  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    const double current = logs["loss"];
    if (current < best_) {
      best_ = current;
      wait_ = 0;
      // Record the best weights if current results is better (less).
      best_weights_ = model().get_weights();
    } else if (++wait_ >= patience_) {
      stopped_epoch = epoch;
      model().stop_training = true;
      model().set_weights(best_weights_);
    }
  }

  int64_t stopped_epoch = 0;

 private:
  int64_t patience_;
  int64_t wait_ = 0;
  double best_ = 0;
  std::vector<Tensor> best_weights_;
};

}  // namespace

TEST_CASE("callbacks_early_stopping") {
  const Golden golden("callbacks_early_stopping");
  auto [x_train, y_train] = Data();
  Sequential model = get_model();
  auto callback = std::make_shared<EarlyStoppingAtMinLoss>();
  History history = model.fit(
      x_train, y_train,
      {.batch_size = 64, .epochs = 60, .verbose = 0, .callbacks = {callback}, .shuffle = false});
  golden.check("stopped_epoch", callback->stopped_epoch);
  golden.check("epochs", history.epoch.size());
}

namespace {

// Learning rate scheduler which sets the learning rate according to schedule.
class CustomLearningRateScheduler : public Callback {
 public:
  using Schedule = std::function<double(int64_t epoch, double lr)>;
  explicit CustomLearningRateScheduler(Schedule schedule) : schedule_(std::move(schedule)) {}

  void on_epoch_begin(int64_t epoch, const Logs&) override {
    // Get the current learning rate from model's optimizer.
    const double lr = double(model().optimizer().learning_rate());
    // Call schedule function to get the scheduled learning rate.
    const double scheduled_lr = schedule_(epoch, lr);
    // Set the value back to the optimizer before this epoch starts
    model().optimizer().set_learning_rate(scheduled_lr);
  }

 private:
  Schedule schedule_;
};

const std::pair<int64_t, double> kSchedule[] = {
    // (epoch to start, learning rate) tuples
    {3, 0.05},
    {6, 0.01},
    {9, 0.005},
    {12, 0.001},
};

// Returns the scheduled learning rate for an epoch.
double lr_schedule(int64_t epoch, double lr) {
  for (const auto& [start, rate] : kSchedule) {
    if (epoch == start) return rate;
  }
  return lr;
}

}  // namespace

TEST_CASE("callbacks_scheduler") {
  const Golden golden("callbacks_scheduler");
  auto [x_train, y_train] = Data();
  Sequential model = get_model();
  History history =
      model.fit(x_train, y_train,
                {.batch_size = 64,
                 .epochs = 15,
                 .verbose = 0,
                 .callbacks = {make_callback<CustomLearningRateScheduler>(lr_schedule)},
                 .shuffle = false});
  golden.check("history", history);
  golden.check("rate", double(model.optimizer().learning_rate()));
}
