// SPDX-License-Identifier: Apache-2.0
// Callbacks that stop evaluate and predict.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

using namespace cornu;

namespace {

struct Stopper : Callback {
  void on_test_batch_end(int64_t batch, const Logs&) override {
    if (batch == 2) model().stop_evaluating = true;
    batches = batch + 1;
  }
  void on_predict_batch_end(int64_t batch, const Logs&) override {
    if (batch == 1) model().stop_predicting = true;
    batches = batch + 1;
  }
  int64_t batches = 0;
};

}  // namespace

TEST_CASE("a callback ends an evaluation and a prediction, of data without end, too") {
  Sequential model({layers::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto endless = data::Dataset::from_tensors({ops::ones({2, 3}), ops::ones({2, 1})}).repeat();
  const auto stopper = make_callback<Stopper>();
  model.evaluate(ops::ones({20, 3}), ops::ones({20, 1}),
                 {.batch_size = 2, .verbose = 0, .callbacks = stopper});
  CHECK(stopper->batches == 3);
  const Tensor predicted =
      model.predict(ops::ones({20, 3}), {.batch_size = 2, .verbose = 0, .callbacks = stopper});
  CHECK(stopper->batches == 2);
  CHECK(predicted.shape() == Shape{4, 1});
  // Each call starts over, and a validation can be stopped, too.
  CHECK(model.predict(ops::ones({6, 3}), {.batch_size = 2, .verbose = 0}).shape() == Shape{6, 1});
  const History history =
      model.fit(endless, {.verbose = 0,
                          .callbacks = stopper,
                          .validation_data = ValidationData(ops::ones({20, 3}), ops::ones({20, 1})),
                          .steps_per_epoch = 2,
                          .validation_batch_size = 2});
  CHECK(stopper->batches == 3);
  CHECK(history.at("val_loss").size() == 1);
}
