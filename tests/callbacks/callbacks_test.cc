// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/callbacks.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "framework/callbacks/monitor.h"
#include "framework/callbacks/text.h"
#include "framework/metrics/metrics.h"
#include "tests/callbacks/toy_fit.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::Fit;
using test::message_of;
using test::Scratch;
using test::Toy;
using test::with_rate;

// ---- EarlyStopping ----

TEST_CASE("EarlyStopping waits for `patience` epochs without improvement") {
  const callbacks::EarlyStopping stopping({.patience = 2});
  Fit fit({stopping});
  CHECK(fit.losses({1.0, 0.5, 0.6, 0.4, 0.4, 0.5, 0.1}) == 6);
  CHECK(stopping.stopped_epoch() == 5);
  CHECK(stopping.best_epoch() == 3);
  CHECK(stopping.best() == 0.4);
  fit.end();
  CHECK(fit.model.get() == 5);  // the last weights, not the best
}

TEST_CASE("EarlyStopping without patience doesn't stop after the first epoch") {
  Fit fit({callbacks::EarlyStopping()});
  CHECK(fit.losses({1.0, 1.0, 1.0}) == 2);
}

TEST_CASE("EarlyStopping restores the best weights") {
  Fit fit({callbacks::EarlyStopping({.patience = 1, .restore_best_weights = true})});
  CHECK(fit.losses({1.0, 0.5, 0.7, 0.1}) == 3);
  CHECK(fit.model.get() == 2);
  fit.end();
  CHECK(fit.model.get() == 1);
}

TEST_CASE("EarlyStopping's min_delta, mode, baseline and start_from_epoch") {
  SUBCASE("a change of less than min_delta is none") {
    Fit fit({callbacks::EarlyStopping({.min_delta = 0.1})});
    CHECK(fit.losses({1.0, 0.8, 0.75, 0.1}) == 3);
  }
  SUBCASE("max") {
    Fit fit({callbacks::EarlyStopping({.monitor = "reward", .mode = "max"})});
    CHECK(fit.losses({1.0, 2.0, 1.5, 3.0}, "reward") == 3);
  }
  SUBCASE("the baseline must be beaten too") {
    Fit fit({callbacks::EarlyStopping({.patience = 2, .baseline = 0.5})});
    CHECK(fit.losses({1.0, 0.9, 0.8, 0.85, 0.1}) == 4);  // immediately: the patience is used up
  }
  SUBCASE("without beating the baseline, the best of these epochs is restored") {
    Fit fit(
        {callbacks::EarlyStopping({.patience = 3, .baseline = 0.5, .restore_best_weights = true})});
    CHECK(fit.losses({0.9, 0.7, 0.8, 0.6}) == 3);
    fit.end();
    CHECK(fit.model.get() == 1);
  }
  SUBCASE("epochs before start_from_epoch aren't judged") {
    Fit fit({callbacks::EarlyStopping({.start_from_epoch = 3})});
    CHECK(fit.losses({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}) == 5);
  }
}

TEST_CASE("auto knows losses, and Keras's metrics by their class") {
  const std::vector<Metric> known = {metrics::SparseCategoricalAccuracy({.name = "accuracy"}),
                                     metrics::AUC(),
                                     metrics::Precision(),
                                     metrics::MeanAbsoluteError({.name = "mae"}),
                                     metrics::BinaryCrossentropy(),
                                     metrics::Mean({.name = "average"})};
  // Whether 2 is better than 1.
  const auto up = [&](const std::string& figure) {
    return callbacks::Monitor("x", figure, "auto", 0).improves(2.0, 1.0, known);
  };
  for (const char* figure : {"accuracy", "val_accuracy", "auc", "precision", "digit_accuracy"}) {
    CAPTURE(figure);
    CHECK(up(figure));
  }
  for (const char* figure :
       {"loss", "val_loss", "val_digit_loss", "mae", "val_mae", "binary_crossentropy"}) {
    CAPTURE(figure);
    CHECK(!up(figure));
  }
  for (const char* figure : {"average", "val_reward"}) {
    CHECK(message_of<InvalidArgument>([&] { up(figure); }) ==
          std::string("x: can't tell whether '") + figure +
              "' should go up or down. Set mode to \"max\" or \"min\".");
  }
}

TEST_CASE("metrics are compared as the float32 numbers they are") {
  callbacks::Monitor monitor("x", "y", "max", 0);
  const auto value = static_cast<double>(0.97f);  // slightly above 0.97
  CHECK(!monitor.improves(value, 0.97, {}));
  CHECK(monitor.improves(value, {}, {}));
}

TEST_CASE("a monitor that isn't there is no error") {
  const callbacks::EarlyStopping stopping({.monitor = "val_losss"});
  Fit fit({stopping, callbacks::ReduceLROnPlateau({.monitor = "val_losss"})}, with_rate(0.5));
  CHECK(fit.losses({1.0, 2.0, 3.0}) == 3);
  CHECK(!stopping.best());
  CHECK(fit.rate() == doctest::Approx(0.5));
}

TEST_CASE("an unknown mode is an error") {
  CHECK(message_of<InvalidArgument>([] { callbacks::EarlyStopping({.mode = "up"}); }) ==
        "EarlyStopping: expected mode \"auto\", \"min\" or \"max\", got \"up\".");
}

TEST_CASE("EarlyStopping goes on from its saved state") {
  const callbacks::EarlyStoppingOptions options{.patience = 2, .restore_best_weights = true};
  const callbacks::EarlyStopping before(options);
  Fit first({before});
  first.losses({1.0, 0.3, 0.4});
  const RunState saved = before->save_state();

  const callbacks::EarlyStopping after(options);
  Fit second({after});
  after->restore_state(saved);
  CHECK(after.best() == 0.3);
  second.epoch({{"val_loss", 0.5}});
  second.epoch({{"val_loss", 0.5}});
  CHECK(second.model.stop_training);
  second.end();
  CHECK(second.model.get() == 1);  // the weights of the second epoch of the first run
}

// ---- learning rates ----

TEST_CASE("LearningRateScheduler sets each epoch's rate and logs it") {
  Fit fit(
      {callbacks::LearningRateScheduler(
          {.schedule = [](int64_t epoch, double rate) { return epoch < 2 ? rate : rate / 2; }})},
      with_rate(0.5));
  for (double expected : {0.5, 0.5, 0.25, 0.125}) {
    const Logs logs = fit.epoch({{"loss", 1.0}});
    CHECK(logs.names() == std::vector<std::string>{"loss", "learning_rate"});
    CHECK(logs.at("learning_rate") == expected);
    CHECK(fit.rate() == expected);
  }
}

TEST_CASE("LearningRateScheduler takes a function of the epoch alone") {
  Fit fit({callbacks::LearningRateScheduler(
              {.schedule = [](int64_t epoch) { return 1.0 / static_cast<double>(epoch + 1); }})},
          with_rate(0.25));
  CHECK(fit.epoch({}).at("learning_rate") == 1.0);
  CHECK(fit.epoch({}).at("learning_rate") == 0.5);
}

TEST_CASE("LearningRateScheduler's errors") {
  CHECK(message_of<InvalidArgument>([] { callbacks::LearningRateScheduler({}); }) ==
        "LearningRateScheduler: expected a schedule, got none.");
  CHECK(message_of<InvalidArgument>([] {
          Fit fit({callbacks::LearningRateScheduler({.schedule = [](int64_t) { return NAN; }})},
                  with_rate(1));
          fit.epoch({});
        }) == "LearningRateScheduler: expected a learning rate for epoch 1, got nan.");
}

TEST_CASE("later callbacks see what a callback adds to the logs") {
  Logs seen;
  Fit fit({callbacks::LearningRateScheduler({.schedule = [](int64_t) { return 0.5; }}),
           callbacks::LambdaCallback(
               {.on_epoch_end = [&](int64_t, const Logs& logs) { seen = logs; }})},
          with_rate(1));
  fit.epoch({{"loss", 2.0}});
  CHECK(seen.at("learning_rate") == 0.5);
}

TEST_CASE("ReduceLROnPlateau multiplies the rate by factor after `patience` epochs") {
  Fit fit({callbacks::ReduceLROnPlateau({.factor = 0.5, .patience = 2})}, with_rate(1.0));
  const std::vector<double> losses = {1.0, 0.5, 0.5, 0.49995, 0.5, 0.4, 0.41, 0.42};
  const std::vector<double> rates = {1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25};
  for (size_t i = 0; i < losses.size(); ++i) {
    CAPTURE(i);
    const double before = fit.rate();
    // The logged rate is the one that the epoch was trained with.
    CHECK(fit.epoch({{"val_loss", losses[i]}}).at("learning_rate") == before);
    CHECK(fit.rate() == rates[i]);
  }
}

TEST_CASE("ReduceLROnPlateau's cooldown and min_lr") {
  SUBCASE("epochs of cooldown don't count") {
    Fit fit({callbacks::ReduceLROnPlateau({.factor = 0.5, .patience = 1, .cooldown = 2})},
            with_rate(1.0));
    std::vector<double> rates;
    for (int i = 0; i < 7; ++i) {
      fit.epoch({{"val_loss", 1.0}});
      rates.push_back(fit.rate());
    }
    CHECK(rates == std::vector<double>{1, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125});
  }
  SUBCASE("not below min_lr") {
    Fit fit({callbacks::ReduceLROnPlateau({.factor = 0.1, .patience = 1, .min_lr = 0.25})},
            with_rate(1.0));
    for (int i = 0; i < 4; ++i) fit.epoch({{"val_loss", 1.0}});
    CHECK(fit.rate() == 0.25);
  }
}

TEST_CASE("ReduceLROnPlateau goes on from its saved state, and needs a factor below 1") {
  const callbacks::ReduceLROnPlateauOptions options{.factor = 0.5, .patience = 2};
  const callbacks::ReduceLROnPlateau before(options);
  Fit first({before}, with_rate(1));
  first.losses({1.0, 1.0});
  const callbacks::ReduceLROnPlateau after(options);
  Fit second({after}, with_rate(1));
  after->restore_state(before->save_state());
  second.losses({1.0});
  CHECK(second.rate() == 0.5);
  CHECK(message_of<InvalidArgument>([] { callbacks::ReduceLROnPlateau({.factor = 1.0}); }) ==
        "ReduceLROnPlateau: expected a factor below 1, got 1.");
}

// ---- TerminateOnNaN, LambdaCallback ----

TEST_CASE("TerminateOnNaN ends training at the batch") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (double bad : {static_cast<double>(NAN), infinity, -infinity}) {
    Fit fit({callbacks::TerminateOnNaN()});
    CHECK(fit.list().wants_batches());
    fit.list().on_epoch_begin(1);
    fit.list().on_train_batch_end(0, {{"loss", 1e30}});
    CHECK(!fit.model.stop_training);
    fit.list().on_train_batch_end(1, {{"loss", bad}});
    CHECK(fit.model.stop_training);
  }
}

TEST_CASE("TerminateOnNaN can raise an error, which names epoch and batch") {
  Fit fit({callbacks::TerminateOnNaN({.raise_error = true})});
  fit.list().on_epoch_begin(1);
  fit.list().on_train_batch_end(2, {{"accuracy", NAN}});  // only the loss matters
  CHECK(message_of<OutOfRange>([&] {
          fit.list().on_train_batch_end(2, {{"loss", NAN}});
        }) ==
        "TerminateOnNaN: the loss became nan in batch 3 of epoch 2. Lower the learning rate, clip "
        "gradients (clipnorm), or look for bad values in the data.");
}

TEST_CASE("LambdaCallback calls what it is given, and wants batches only for those") {
  std::string calls;
  Fit without({callbacks::LambdaCallback(
      {.on_epoch_begin = [&](int64_t epoch, const Logs&) { calls += fmt::format("b{} ", epoch); },
       .on_train_begin = [&](const Logs&) { calls += "begin "; },
       .on_train_end = [&](const Logs&) { calls += "end "; }})});
  CHECK(!without.list().wants_batches());
  without.epoch({});
  without.epoch({});
  without.end();
  CHECK(calls == "begin b0 b1 end ");

  calls.clear();
  Fit with({callbacks::LambdaCallback({.on_train_batch_end = [&](int64_t batch, const Logs& logs) {
    calls += fmt::format("{}:{} ", batch, logs.at("loss"));
  }})});
  REQUIRE(with.list().wants_batches());
  with.list().on_train_batch_begin(0);
  with.list().on_train_batch_end(0, {{"loss", 0.5}});
  with.list().on_test_batch_end(4, {{"loss", 7.5}});
  CHECK(calls == "0:0.5 ");
}

TEST_CASE("logs name the nearest metric when one is missing") {
  const Logs logs{{"accuracy", 1}, {"loss", 2}};
  CHECK(
      message_of<NotFound>([&] { logs.at("acuracy"); }) ==
      "Logs: there is no metric named 'acuracy'. Did you mean 'accuracy'? Known: accuracy, loss.");
}

// ---- CSVLogger ----

// The expected texts are Keras's, for the same metrics.
TEST_CASE("CSVLogger writes what Keras writes") {
  Scratch scratch;
  const std::string path = scratch.path("a.csv");
  {
    Fit fit({callbacks::CSVLogger({.filename = path})});
    fit.epoch({{"loss", static_cast<double>(0.1f)}, {"accuracy", 1.0}});
    fit.epoch({{"loss", 1e-5}, {"accuracy", NAN}});
    fit.epoch({{"loss", 1e22}, {"accuracy", HUGE_VAL}, {"val_loss", 3.0}});
    fit.epoch({{"loss", 123456789012345680.0}});
    fit.end();
  }
  const std::string first =
      "epoch,accuracy,loss,val_accuracy,val_loss\r\n"
      "0,1.0,0.10000000149011612,NA,NA\r\n"
      "1,nan,1e-05,NA,NA\r\n"
      "2,inf,1e+22,NA,3.0\r\n"
      "3,NA,1.2345678901234568e+17,NA,NA\r\n";
  CHECK(test::contents(path) == first);
  SUBCASE("append") {
    Fit fit({callbacks::CSVLogger({.filename = path, .separator = ";", .append = true})});
    fit.epoch({{"val_loss", 2.0}, {"loss", 0.0001}});
    CHECK(test::contents(path) == first + "0;0.0001;2.0\r\n");
  }
  SUBCASE("overwrite; names that need quotes get them") {
    Fit fit({callbacks::CSVLogger({.filename = path})});
    fit.epoch({{"val_a,\"b\"", 1}});
    CHECK(test::contents(path) == "epoch,\"val_a,\"\"b\"\"\"\r\n0,1.0\r\n");
  }
}

TEST_CASE("CSVLogger's file isn't one that the program prints to") {
  Scratch scratch;
  const std::string path = scratch.path("a.csv");
  const int kept = dup(STDOUT_FILENO);
  close(STDOUT_FILENO);
  Fit fit({callbacks::CSVLogger({.filename = path})});
  fit.epoch({{"loss", 0.5}});
  const ssize_t printed = write(STDOUT_FILENO, "progress", 8);
  dup2(kept, STDOUT_FILENO);
  close(kept);
  CHECK(printed < 0);
  CHECK(test::contents(path) == "epoch,loss,val_loss\r\n0,0.5,NA\r\n");
}

TEST_CASE("CSVLogger's errors") {
  CHECK(message_of<InvalidArgument>([] { callbacks::CSVLogger({.separator = ", "}); }) ==
        "CSVLogger: expected a separator of one character, got \", \".");
  Scratch scratch;
  const std::string path = scratch.path("missing/a.csv");
  CHECK(message_of<FailedPrecondition>([&] {
          Fit fit({callbacks::CSVLogger({.filename = path})});
        }) == "CSVLogger: the file '" + path +
                  "' can't be opened: No such file or directory. Check its directory, or pass "
                  "another filename.");
}

// ---- ModelCheckpoint ----

TEST_CASE("ModelCheckpoint wants an ending that says what is saved") {
  for (const std::string path : {"a.h6", "a.weights.h5"}) {
    CHECK(message_of<InvalidArgument>([&] { callbacks::ModelCheckpoint({.filepath = path}); }) ==
          "ModelCheckpoint: expected a filepath that ends in \".keras\" or \".h5\", got '" + path +
              "'. Or name a directory, without an extension.");
  }
  CHECK(message_of<InvalidArgument>([] {
          callbacks::ModelCheckpoint({.filepath = "a.keras", .save_weights_only = true});
        }) ==
        "ModelCheckpoint: expected a filepath that ends in \".weights.h5\" (save_weights_only), "
        "got 'a.keras'. Or name a directory, without an extension.");
  CHECK(message_of<InvalidArgument>([] { callbacks::ModelCheckpoint({}); }) ==
        "ModelCheckpoint: expected a filepath, got an empty one.");
  CHECK(message_of<InvalidArgument>(
            [] { callbacks::ModelCheckpoint({.filepath = "{epoch.keras"}); }) ==
        "ModelCheckpoint: '{epoch.keras' has a '{' without its other half. Write it twice to mean "
        "the character.");
}

TEST_CASE("ModelCheckpoint fails before training where it can't write") {
  Scratch scratch;
  test::put(scratch.path("file"), "");
  const std::string inside_file = scratch.path("file/ckpt/{epoch}.keras");
  CHECK(message_of<FailedPrecondition>(
            [&] { Fit fit({callbacks::ModelCheckpoint({.filepath = inside_file})}); }) ==
        "ModelCheckpoint: the directory '" + scratch.path("file/ckpt") +
            "' can't be created: Not a directory. Create it, or pass another filepath than '" +
            inside_file + "'.");
  CHECK(message_of<FailedPrecondition>([] {
          Fit fit({callbacks::ModelCheckpoint({.filepath = "/proc/model.keras"})});
        }).find("ModelCheckpoint: files can't be written to the directory '/proc': ") == 0);
  std::filesystem::create_directory(scratch.path("folder.keras"));
  CHECK(message_of<FailedPrecondition>([&] {
          Fit fit({callbacks::ModelCheckpoint({.filepath = scratch.path("folder.keras")})});
        }) == "ModelCheckpoint: '" + scratch.path("folder.keras") +
                  "' is a directory. Pass the path of a file.");
}

TEST_CASE("ModelCheckpoint saves each epoch, named by its metrics") {
  Scratch scratch;
  Fit fit({callbacks::ModelCheckpoint(
      {.filepath = scratch.path("runs/{epoch:02d}-{val_loss:.2f}.weights.h5"),
       .save_weights_only = true})});
  CHECK(!fit.list().wants_batches());
  fit.losses({1.234, 0.5});
  CHECK(std::filesystem::exists(scratch.path("runs/01-1.23.weights.h5")));
  CHECK(std::filesystem::exists(scratch.path("runs/02-0.50.weights.h5")));
  CHECK(message_of<InvalidArgument>([&] {
          fit.epoch({{"val_los", 1}});
        })
            .find("names 'val_loss', which isn't known then. Did you mean 'val_los'? Known: epoch, "
                  "val_los.") != std::string::npos);
}

TEST_CASE("ModelCheckpoint with save_best_only keeps the best weights") {
  Scratch scratch;
  const std::string path = scratch.path("best.weights.h5");
  const callbacks::ModelCheckpoint checkpoint({.filepath = path,
                                               .save_best_only = true,
                                               .save_weights_only = true,
                                               .initial_value_threshold = 0.9});
  Fit fit({checkpoint});
  fit.losses({1.0});
  CHECK(!std::filesystem::exists(path));  // it doesn't beat the threshold
  fit.losses({0.5, 0.7});
  CHECK(checkpoint.best() == 0.5);
  Toy loaded;
  loaded.load_weights(path);
  CHECK(loaded.get() == 1);
}

TEST_CASE("ModelCheckpoint counts batches across epochs") {
  Scratch scratch;
  Fit fit({callbacks::ModelCheckpoint({.filepath = scratch.path("{epoch}-{batch}.weights.h5"),
                                       .save_weights_only = true,
                                       .save_freq = 3})});
  REQUIRE(fit.list().wants_batches());
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    fit.list().on_epoch_begin(epoch);
    for (int64_t batch = 0; batch < 4; ++batch) fit.list().on_train_batch_end(batch, {{"loss", 1}});
    fit.list().on_epoch_end(epoch, {{"loss", 1}});
  }
  fit.end();
  CHECK(scratch.names() == std::vector<std::string>{"1-3.weights.h5", "2-2.weights.h5"});
  CHECK(message_of<InvalidArgument>([] {
          callbacks::ModelCheckpoint({.filepath = "a.keras", .save_freq = 0});
        }) == "save_freq: expected \"epoch\" or a number of batches, got 0.");
  CHECK(message_of<InvalidArgument>([] {
          callbacks::ModelCheckpoint({.filepath = "a.keras", .save_freq = "batch"});
        }) == "save_freq: expected \"epoch\" or a number of batches, got \"batch\".");
}

TEST_CASE("a filepath without an extension is a folder") {
  Scratch scratch;
  Fit fit(
      {callbacks::ModelCheckpoint({.filepath = scratch.path("ckpt"), .save_weights_only = true})});
  fit.losses({1.0});
  CHECK(std::filesystem::exists(scratch.path("ckpt/model.weights.h5")));
}

TEST_CASE("ModelCheckpoint goes on from its saved best") {
  Scratch scratch;
  const callbacks::ModelCheckpointOptions options{
      .filepath = scratch.path("a.weights.h5"), .save_best_only = true, .save_weights_only = true};
  const callbacks::ModelCheckpoint before(options);
  Fit first({before});
  first.losses({0.25});
  const RunState saved = before->save_state();
  first.end();
  std::filesystem::remove(options.filepath);
  const callbacks::ModelCheckpoint after(options);
  after->restore_state(saved);
  Fit second({after});
  second.losses({0.5});
  CHECK(!std::filesystem::exists(options.filepath));
}

TEST_CASE("what ModelCheckpoint could never write is an error when it is made") {
  const auto error_of = [](const std::string& filepath) {
    return message_of<InvalidArgument>([&] { callbacks::ModelCheckpoint({.filepath = filepath}); });
  };
  CHECK(
      error_of("{batch}.keras") ==
      "ModelCheckpoint: the filepath '{batch}.keras' names the batch, but it is saved at the end "
      "of epochs (save_freq = \"epoch\"). Omit {batch}, or set save_freq to a number of batches.");
  CHECK(error_of("{epoch:xyz}.keras")
            .starts_with("ModelCheckpoint: the format of {epoch:xyz} doesn't fit its value ("));
  CHECK(error_of("{val_loss:d}.keras")
            .starts_with("ModelCheckpoint: the format of {val_loss:d} doesn't fit its value ("));
  CHECK(error_of("{epoch!r}.keras")
            .starts_with("ModelCheckpoint: '{epoch!r}.keras' has the field {epoch!r}, which asks "
                         "for a conversion."));
  callbacks::ModelCheckpoint({.filepath = "{epoch:02d}-{batch}-{loss:.2f}.keras", .save_freq = 5});
}

TEST_CASE("a folder for states whose name is too long is a typed error") {
  const std::string folder(300, 'x');
  CHECK(message_of<FailedPrecondition>([&] {
          Fit fit({callbacks::BackupAndRestore({.backup_dir = folder})});
        }) == "Run state: '" + folder +
                  "' isn't a directory, and none can be created there: File name too long. Choose "
                  "another path.");
}

// ---- texts and tensors in files ----

TEST_CASE("fields are formatted as Python does") {
  const auto format = [](const std::string& text) {
    return callbacks::FieldText("x", text).format(
        [](const std::string& name) -> callbacks::FieldText::Value {
          if (name == "epoch") return int64_t{7};
          return 0.0625;
        });
  };
  CHECK(format("plain") == "plain");
  CHECK(format("{epoch}/{loss}") == "7/0.0625");
  CHECK(format("{epoch:03d}-{epoch:.1f}-{loss:.2e}-{loss:8.3f}|") == "007-7.0-6.25e-02-   0.062|");
  CHECK(format("{{{epoch}}}") == "{7}");
  CHECK(message_of<InvalidArgument>([&] {
          format("{loss:d}");
        }).find("x: the format of {loss:d} doesn't fit its value (") == 0);
  CHECK(message_of<InvalidArgument>([&] { format("{:d}"); }) ==
        "x: '{:d}' has a field without a name. Name an epoch's metric, for example {epoch:02d} or "
        "{val_loss:.2f}.");
  CHECK(message_of<InvalidArgument>([&] { format("{epoch!r}"); }) ==
        "x: '{epoch!r}' has the field {epoch!r}, which asks for a conversion. Omit everything from "
        "'!' on.");
  CHECK(callbacks::float_text(1) == "1.0");
  CHECK(callbacks::float_text(-0.0) == "-0.0");
  CHECK(callbacks::float_text(1e16) == "1e+16");
}

TEST_CASE("a callback that was moved from says so") {
  CallbackHandle callback = callbacks::TerminateOnNaN();
  const CallbackHandle other = std::move(callback);
  const char* expected = "CallbackHandle: expected a callback, got none.";
  CHECK(message_of<FailedPrecondition>([&] { callback.get(); }) == expected);
  CHECK(message_of<FailedPrecondition>([&] { callback->on_train_begin({}); }) == expected);
  CHECK(static_cast<bool>(other));
}

}  // namespace
}  // namespace cornu
