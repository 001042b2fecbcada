// SPDX-License-Identifier: Apache-2.0
// Callbacks in the training of a model: averages in place of weights, a remote monitor.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <string>

#include "tests/support/errors.h"
#include "tests/support/http_server.h"
#include "tests/support/log.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::message_of;

namespace {

Tensor values(const Shape& shape, int64_t seed) { return random::normal(shape, {.seed = seed}); }

Sequential make_averaging(const Optimizer& optimizer) {
  clear_session();
  set_random_seed(4);
  Sequential model(Input({.shape = {3}}), {layers::Dense({.units = 1, .name = "d"})});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  return model;
}
Optimizer averaging() {
  return optimizers::SGD({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.7});
}

History fit(Model& model, const std::vector<CallbackHandle>& callbacks, int64_t epochs = 3) {
  return model.fit(values({8, 3}, 1), values({8, 1}, 2),
                   {.batch_size = 4,
                    .epochs = epochs,
                    .verbose = 0,
                    .callbacks = callbacks,
                    .validation_data = {values({4, 3}, 3), values({4, 1}, 4)},
                    .shuffle = false});
}

std::vector<float> numbers_of(const std::vector<Tensor>& weights) {
  std::vector<float> result;
  for (const Tensor& weight : weights) {
    for (const float value : weight.to_vector<float>()) result.push_back(value);
  }
  return result;
}

std::vector<float> averages_of(const Optimizer& optimizer) {
  std::vector<Tensor> values;
  for (const Variable& average : optimizer.impl().averages()) values.push_back(average.value());
  return numbers_of(values);
}

}  // namespace

TEST_CASE("SwapEMAWeights shows averages to evaluations and predictions, and takes them back") {
  const Optimizer optimizer = averaging();
  Sequential model = make_averaging(optimizer);
  fit(model, {});
  // Another step, so that the weights differ from the averages, which the end of fit has put into
  // the model.
  model.train_on_batch(values({8, 3}, 5), values({8, 1}, 6));
  const std::vector<float> weights = numbers_of(model.get_weights());
  const std::vector<float> averages = averages_of(optimizer);
  REQUIRE(weights != averages);
  std::vector<std::vector<float>> seen;
  const callbacks::LambdaCallback look(
      {.on_test_batch_begin = [&](int64_t,
                                  const Logs&) { seen.push_back(numbers_of(model.get_weights())); },
       .on_predict_batch_begin =
           [&](int64_t, const Logs&) { seen.push_back(numbers_of(model.get_weights())); }});
  const callbacks::SwapEMAWeights swap;
  model.evaluate(values({4, 3}, 3), values({4, 1}, 4), {.verbose = 0, .callbacks = {swap, look}});
  CHECK(numbers_of(model.get_weights()) == weights);
  model.predict(values({4, 3}, 3), {.verbose = 0, .callbacks = {swap, look}});
  CHECK(numbers_of(model.get_weights()) == weights);
  CHECK(averages_of(optimizer) == averages);
  CHECK(seen == std::vector<std::vector<float>>{averages, averages});
}

TEST_CASE("SwapEMAWeights finds the averages of optimizers within others") {
  for (const bool multi : {false, true}) {
    const Optimizer inner = averaging();
    Optimizer optimizer = optimizers::LossScaleOptimizer({.inner_optimizer = inner});
    if (multi) {
      optimizer = optimizers::MultiOptimizer(
          {.optimizer_map = optimizers::OptimizerMap(optimizers::SGD(), {{".*kernel", inner}})});
    }
    Sequential model = make_averaging(optimizer);
    std::vector<float> at_end;
    std::vector<float> averages;
    const callbacks::LambdaCallback before(
        {.on_epoch_end = [&](int64_t, const Logs&) { averages = averages_of(inner); }});
    const callbacks::LambdaCallback after(
        {.on_epoch_end = [&](int64_t, const Logs&) { at_end = numbers_of(model.get_weights()); }});
    fit(model, {before, callbacks::SwapEMAWeights({.swap_on_epoch = true}), after});
    at_end.resize(averages.size());  // drops the bias when the map excludes it
    CHECK(at_end == averages);
  }
}

TEST_CASE("SwapEMAWeights needs averages") {
  Sequential model = make_averaging(optimizers::Adam({.name = "a"}));
  CHECK(message_of([&] { fit(model, {callbacks::SwapEMAWeights()}); }) ==
        "SwapEMAWeights: expected an optimizer that keeps averages of the variables, got Adam "
        "'a'. Make it with .use_ema = true.");
}

TEST_CASE("a run with averages in the model resumes with the bits it would have had") {
  Sequential expected = make_averaging(averaging());
  const callbacks::SwapEMAWeights swap({.swap_on_epoch = true});
  const History whole = fit(expected, {swap}, 4);
  const test::Scratch scratch;
  auto part = [&](bool stops) {
    Sequential model = make_averaging(averaging());
    const callbacks::LambdaCallback stop({.on_epoch_begin = [&](int64_t epoch, const Logs&) {
      if (stops && epoch == 2) throw std::runtime_error("stopped");
    }});
    const History history =
        fit(model,
            {callbacks::SwapEMAWeights({.swap_on_epoch = true}),
             callbacks::BackupAndRestore({.backup_dir = scratch.path("state")}), stop},
            4);
    CHECK(history["val_loss"] == whole["val_loss"]);
    return numbers_of(model.get_weights());
  };
  CHECK_THROWS_WITH_AS(part(true), "stopped", std::runtime_error);
  CHECK(part(false) == numbers_of(expected.get_weights()));
}

TEST_CASE("ModelCheckpoint saves whole models in HDF5 files, too") {
  const test::Scratch scratch;
  Sequential model = make_averaging("sgd");
  fit(model, {callbacks::ModelCheckpoint({.filepath = scratch.path("{epoch}.h5")})});
  Model loaded = load_model(scratch.path("3.h5"));
  CHECK(numbers_of(loaded.get_weights()) == numbers_of(model.get_weights()));
  CHECK(loaded.optimizer().iterations() == 6);
}

TEST_CASE("ModelCheckpoint's state, whose folder is hidden, is named where it doesn't fit") {
  const test::Scratch scratch;
  const callbacks::ModelCheckpoint keeper({.filepath = scratch.path("{epoch}.keras")});
  const callbacks::LambdaCallback stop({.on_epoch_begin = [](int64_t epoch, const Logs&) {
    if (epoch == 1) throw std::runtime_error("stopped");
  }});
  Sequential model = make_averaging(averaging());
  CHECK_THROWS_WITH_AS(fit(model, {keeper, stop}), "stopped", std::runtime_error);
  Sequential other = make_averaging("adam");
  CHECK(
      message_of<FailedPrecondition>([&] { fit(other, {keeper}); })
          .ends_with("delete the saved state to start over. The saved state is in the directory '" +
                     scratch.path(".{epoch}.keras.run") + "'."));
}

TEST_CASE("RemoteMonitor posts each epoch's logs") {
  const testing::HttpServer server;
  Sequential model = make_averaging("sgd");
  const std::string root = server.url().substr(0, server.url().size() - 1);
  const History history = fit(
      model,
      {callbacks::RemoteMonitor({.root = root}),
       callbacks::RemoteMonitor(
           {.root = root, .path = "/other", .headers = {{"Token", "a b"}}, .send_as_json = true})},
      2);
  const std::vector<std::string> requests = server.requests();
  REQUIRE(requests.size() == 4);
  auto body_of = [](const std::string& request) {
    return request.substr(request.find("\r\n\r\n") + 4);
  };
  CHECK(requests[2].starts_with("POST /publish/epoch/end/ HTTP/1.1\r\n"));
  CHECK(requests[2].find("Content-Type: application/x-www-form-urlencoded\r\n") !=
        std::string::npos);
  CHECK(body_of(requests[2]).starts_with("data=%7B%22epoch%22%3A%201%2C%20%22loss%22%3A%20"));
  CHECK(requests[3].starts_with("POST /other HTTP/1.1\r\n"));
  CHECK(requests[3].find("Content-Type: application/json\r\n") != std::string::npos);
  CHECK(requests[3].find("Token: a b\r\n") != std::string::npos);
  const Json sent = Json::parse(body_of(requests[3]));
  CHECK(sent.size() == 3);
  CHECK(sent.at("epoch").as_int() == 1);
  CHECK(sent.at("loss").as_double() == doctest::Approx(history["loss"][1]));
  CHECK(sent.at("val_loss").as_double() == doctest::Approx(history["val_loss"][1]));
}

TEST_CASE("a RemoteMonitor that reaches nobody is a warning, and bad headers are an error") {
  const test::Log log;
  std::string root;
  {
    const testing::HttpServer server;  // whose port is unused after it is destroyed
    root = server.url();
  }
  Sequential model = make_averaging("sgd");
  const History history = fit(model, {callbacks::RemoteMonitor({.root = root})}, 2);
  CHECK(history["loss"].size() == 2);
  CHECK(log.text().find("Could not reach RemoteMonitor root server at " + root) !=
        std::string::npos);
  CHECK(message_of([] {
          callbacks::RemoteMonitor({.headers = {{"A", "b\r\nC: d"}}});
        }) == "RemoteMonitor: expected headers of one line, got 'A'.");
}
