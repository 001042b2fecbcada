// SPDX-License-Identifier: Apache-2.0
// The decisions of callbacks, compared with real Keras.
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/callbacks/callbacks.h"
#include "tests/callbacks/toy_fit.h"
#include "tests/golden/golden.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::Fit;
using test::golden_number;
using test::Scratch;

// Options by name: read("patience", options.patience).
class Options {
 public:
  explicit Options(const Json& item) : json_(item.at("options")) {}
  ~Options() { CHECK(read_ == json_.size()); }
  void operator()(const char* key, std::string& out) {
    if (const Json* json = find(key)) out = json->as_string();
  }
  void operator()(const char* key, bool& out) {
    if (const Json* json = find(key)) out = json->as_bool();
  }
  void operator()(const char* key, int64_t& out) {
    if (const Json* json = find(key)) out = json->as_int();
  }
  void operator()(const char* key, double& out) {
    if (const Json* json = find(key)) out = json->as_double();
  }
  void operator()(const char* key, std::optional<double>& out) {
    if (const Json* json = find(key)) out = json->as_double();
  }
  void operator()(const char* key, callbacks::SaveFrequency& out) {
    if (const Json* json = find(key)) out = json->as_int();
  }

 private:
  const Json* find(const char* key) {
    const Json* found = json_.find(key);
    read_ += found != nullptr;
    return found;
  }

  const Json& json_;
  size_t read_ = 0;
};

std::vector<double> numbers(const Json& json) {
  std::vector<double> result;
  for (const Json& number : json.as_array()) result.push_back(golden_number(number));
  return result;
}

template <class F>
void each_case(const std::string& kind, F&& check_case) {
  const Json cases = test::golden_cases("callbacks");
  int count = 0;
  for (const Json& item : cases.as_array()) {
    if (item.at("kind").as_string() != kind) continue;
    CAPTURE(item.at("name").as_string());
    ++count;
    check_case(item);
  }
  CHECK(count >= 4);
}

TEST_CASE("EarlyStopping stops when Keras's does, with the same weights") {
  each_case("early_stopping", [](const Json& item) {
    callbacks::EarlyStoppingOptions options;
    {
      Options read(item);
      read("monitor", options.monitor);
      read("min_delta", options.min_delta);
      read("patience", options.patience);
      read("mode", options.mode);
      read("baseline", options.baseline);
      read("restore_best_weights", options.restore_best_weights);
      read("start_from_epoch", options.start_from_epoch);
    }
    const callbacks::EarlyStopping stopping(options);
    Fit fit({stopping});
    CHECK(fit.losses(numbers(item.at("figures")), options.monitor) == item.at("epochs").as_int());
    fit.end();
    CHECK(stopping.stopped_epoch() == item.at("stopped_epoch").as_int());
    CHECK(stopping.best_epoch() == item.at("best_epoch").as_int());
    CHECK(stopping.best() == item.at("best").as_double());
    CHECK(fit.model.get() == item.at("weight").as_double());
  });
}

TEST_CASE("ReduceLROnPlateau sets the rates that Keras's sets") {
  each_case("reduce_lr", [](const Json& item) {
    callbacks::ReduceLROnPlateauOptions options;
    {
      Options read(item);
      read("monitor", options.monitor);
      read("factor", options.factor);
      read("patience", options.patience);
      read("mode", options.mode);
      read("min_delta", options.min_delta);
      read("cooldown", options.cooldown);
      read("min_lr", options.min_lr);
    }
    Fit fit({callbacks::ReduceLROnPlateau(options)}, test::with_rate(1.0));
    const std::vector<double> figures = numbers(item.at("figures"));
    const std::vector<double> rates = numbers(item.at("learning_rates"));
    for (size_t epoch = 0; epoch < figures.size(); ++epoch) {
      CAPTURE(epoch);
      const Logs logs = fit.epoch({{options.monitor, figures[epoch]}});
      CHECK(static_cast<float>(logs.at("learning_rate")) == static_cast<float>(rates[epoch]));
    }
  });
}

TEST_CASE("ModelCheckpoint saves the files that Keras's saves") {
  each_case("checkpoint", [](const Json& item) {
    Scratch scratch;
    callbacks::ModelCheckpointOptions options{.save_weights_only = true};
    {
      Options read(item);
      read("filepath", options.filepath);
      read("save_best_only", options.save_best_only);
      read("mode", options.mode);
      read("save_freq", options.save_freq);
      read("initial_value_threshold", options.initial_value_threshold);
    }
    options.filepath = scratch.path(options.filepath);
    Fit fit({callbacks::ModelCheckpoint(options)});
    const int64_t batches = item.at("batches").as_int();
    const std::vector<double> figures = numbers(item.at("figures"));
    for (int64_t epoch = 0; epoch < item.at("epochs").as_int(); ++epoch) {
      fit.list().on_epoch_begin(epoch);
      double loss = 0;
      for (int64_t batch = 0; batch < batches; ++batch) {
        loss = figures[static_cast<size_t>(epoch * batches + batch)];
        fit.list().on_train_batch_end(batch, {{"loss", loss}});
      }
      fit.list().on_epoch_end(epoch, {{"loss", loss}, {"val_loss", loss * 2}});
    }
    fit.end();
    std::vector<std::string> expected;
    for (const Json& path : item.at("saved").as_array()) expected.push_back(path.as_string());
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    CHECK(scratch.names() == expected);
  });
}

TEST_CASE("CSVLogger writes the text that Keras's writes") {
  each_case("csv", [](const Json& item) {
    Scratch scratch;
    callbacks::CSVLoggerOptions options{.filename = scratch.path("log.csv")};
    {
      Options read(item);
      read("separator", options.separator);
    }
    Fit fit({callbacks::CSVLogger(options)});
    for (const Json& row : item.at("rows").as_array()) {
      Logs logs;
      for (const Json& entry : row.as_array()) {
        logs[entry[0].as_string()] = golden_number(entry[1]);
      }
      fit.epoch(logs);
    }
    fit.end();
    CHECK(test::contents(options.filename) == item.at("text").as_string());
  });
}

}  // namespace
}  // namespace cornu
