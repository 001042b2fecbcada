// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/progbar.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "framework/callbacks/callback.h"
#include "framework/callbacks/progbar_logger.h"
#include "framework/core/error.h"
#include "tests/golden/golden_cases.h"

namespace cornu {
namespace {

Logs read_logs(const Json& values) {
  Logs logs;
  if (values.is_null()) return logs;
  for (const Json& value : values.as_array()) logs[value[0].as_string()] = value[1].as_double();
  return logs;
}

std::optional<std::vector<std::string>> read_names(const Json* list) {
  if (!list) return {};
  std::vector<std::string> names;
  for (const Json& name : list->as_array()) names.push_back(name.as_string());
  return names;
}

ProgbarOptions read_options(const Json& arguments) {
  ProgbarOptions options;
  const Json& target = arguments.at("target");
  if (!target.is_null()) options.target = target.as_int();
  options.stateful_metrics = read_names(arguments.find("stateful_metrics"));
  if (const Json* width = arguments.find("width"))
    options.width = static_cast<int>(width->as_int());
  if (const Json* verbose = arguments.find("verbose")) {
    options.verbose = static_cast<int>(verbose->as_int());
  }
  if (const Json* unit = arguments.find("unit_name")) options.unit_name = unit->as_string();
  return options;
}

// The output of a progress bar, and its clock.
struct Screen {
  std::string text;
  double now = 1000;
  double tick = 0;

  ProgbarOutput output(ProgbarDisplay display) {
    return {.display = display,
            .write = [this](std::string_view part) { text += part; },
            .clock = [this] { return now += tick; }};
  }
  std::string take() { return std::exchange(text, ""); }
};

TEST_CASE("a bar writes what Keras writes") {
  int cases = 0;
  const Json golden = test::golden_cases("progbar");
  for (const Json& item : golden.as_array()) {
    if (item.at("kind").as_string() != "updates") continue;
    ++cases;
    CAPTURE(item.at("name").as_string());
    Screen screen;
    const bool redraws = item.at("dynamic_display").as_bool();
    Progbar bar(read_options(item.at("arguments")),
                screen.output(redraws ? ProgbarDisplay::Redraw : ProgbarDisplay::Lines));
    for (const Json& update : item.at("updates").as_array()) {
      screen.now = 1000.0 + update.at("elapsed").as_double();
      std::optional<bool> finalize;
      if (!update.at("finalize").is_null()) finalize = update.at("finalize").as_bool();
      bar.update(update.at("current").as_int(), read_logs(update.at("values")), finalize);
      CHECK(screen.take() == update.at("output").as_string());
    }
  }
  CHECK(cases >= 12);
}

TEST_CASE("a line that is redrawn is cut to the terminal's width, but for the last one") {
  std::string written;
  double now = 0;
  Progbar bar({.target = 2, .interval = 0},
              {.display = ProgbarDisplay::Redraw,
               .write = [&](std::string_view text) { written = text; },
               .clock = [&] { return now; },
               .columns = [] { return int64_t{20}; }});
  const auto width = [&] {  // without control bytes and colors
    int64_t count = 0;
    for (size_t i = 0; i < written.size(); ++i) {
      if (written[i] == '\x1b')
        i = written.find('m', i);
      else
        count += written[i] >= ' ' || (written[i] & 0xC0) == 0xC0;
    }
    return count;
  };
  bar.update(1, {{"accuracy", 0.5}, {"loss", 1}});
  CHECK(width() == 19);
  CHECK(written.find("1/2") != std::string::npos);
  now = 1;
  bar.update(2, {{"accuracy", 0.5}, {"loss", 1}});
  CHECK(written.find("accuracy: 0.5000 - loss: 1.0000\n") != std::string::npos);
}

// Replays the callback calls of a whole fit, evaluate or predict, as listed in the case.
void play(const Json& item, CallbackList& callbacks) {
  const std::string& action = item.at("action").as_string();
  const bool fit = action == "fit";
  const bool predict = action == "predict";
  int64_t epoch = -1;
  if (fit) callbacks.on_train_begin();
  for (const Json& call : item.at("progbar_calls").as_array()) {
    if (call.contains("new")) {
      ++epoch;
      if (fit) callbacks.on_epoch_begin(epoch);
      if (action == "evaluate") callbacks.on_test_begin();
      if (predict) callbacks.on_predict_begin();
      continue;
    }
    const Logs logs = read_logs(call.at("values"));
    const int64_t batch = call.at("current").as_int() - 1;
    if (call.at("finalize").as_bool()) {
      if (fit) {
        // Validation inside fit writes nothing.
        callbacks.on_test_begin();
        callbacks.on_test_batch_begin(0);
        callbacks.on_test_batch_end(0, logs);
        callbacks.on_test_end(logs);
        callbacks.on_epoch_end(epoch, logs);
      }
      if (action == "evaluate") callbacks.on_test_end(logs);
      if (predict) callbacks.on_predict_end();
    } else {
      if (fit) callbacks.on_train_batch_end(batch, logs);
      if (action == "evaluate") callbacks.on_test_batch_end(batch, logs);
      if (predict) callbacks.on_predict_batch_end(batch);
    }
  }
  if (fit) callbacks.on_train_end(false);
}

CallbackParams read_params(const Json& item, bool known_steps) {
  CallbackParams params{.verbose = static_cast<int>(item.at("verbose").as_int())};
  if (const Json* epochs = item.at("arguments").find("epochs")) params.epochs = epochs->as_int();
  if (known_steps) params.steps = item.at("progbar_calls")[0].at("target").as_int();
  return params;
}

TEST_CASE("fit, evaluate and predict write what Keras writes") {
  int cases = 0;
  const Json golden = test::golden_cases("progbar");
  for (const Json& item : golden.as_array()) {
    if (item.at("kind").as_string() != "call") continue;
    ++cases;
    CAPTURE(item.at("name").as_string());
    Screen screen;
    screen.tick = item.at("clock_tick").as_double();
    CallbackList callbacks({callbacks::ProgbarLogger(screen.output(ProgbarDisplay::Redraw))},
                           nullptr, read_params(item, true));
    CHECK(callbacks.callbacks().size() == 1);
    play(item, callbacks);
    CHECK(screen.take() == item.at("output").as_string());
  }
  CHECK(cases == 8);
}

TEST_CASE("where the output is no terminal, an epoch is one plain line") {
  const Json cases = test::golden_cases("progbar");
  const Json& item = test::golden_case(cases, "fit_validation_verbose1");
  Screen screen;
  screen.tick = 0.0625;
  const std::string expected =
      "Epoch 1/2\n"
      "3/3 ━━━━━━━━━━━━━━━━━━━━ 0s 21ms/step - accuracy: 0.5000 - loss: 1.1124 - val_accuracy: "
      "0.5000 - val_loss: 0.7941\n"
      "Epoch 2/2\n"
      "3/3 ━━━━━━━━━━━━━━━━━━━━ 0s 21ms/step - accuracy: 0.5000 - loss: 1.1012 - val_accuracy: "
      "0.5000 - val_loss: 0.7895\n";
  SUBCASE("without asking for batches") {
    CallbackList callbacks({callbacks::ProgbarLogger(screen.output(ProgbarDisplay::Final))},
                           nullptr, read_params(item, true));
    CHECK(!callbacks.wants_batches());
    play(item, callbacks);
    CHECK(screen.take() == expected);
  }
  SUBCASE("counting batches while it isn't known how many there are") {
    CallbackList callbacks({callbacks::ProgbarLogger(screen.output(ProgbarDisplay::Final))},
                           nullptr, read_params(item, false));
    CHECK(callbacks.wants_batches());
    play(item, callbacks);
    std::string text = screen.take();
    CHECK(text.find("3/3 ━━━━━━━━━━━━━━━━━━━━ ") != std::string::npos);
    CHECK(text.find("Unknown") == std::string::npos);
    CHECK(text.find_first_of("\x1b\b\r") == std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 4);
  }
}

TEST_CASE("set_steps tells how many batches an epoch turned out to have") {
  Screen screen;
  CallbackList callbacks({callbacks::ProgbarLogger(screen.output(ProgbarDisplay::Final))}, nullptr,
                         {.verbose = 2, .epochs = 1});
  callbacks.on_train_begin();
  callbacks.on_epoch_begin(0);
  callbacks.set_steps(7);
  callbacks.on_epoch_end(0, {{"loss", 0.5}});
  CHECK(screen.take() == "7/7 - 0s - 0s/step - loss: 0.5000\n");
}

TEST_CASE("callbacks get a progress bar unless they are silent or have one") {
  CHECK(CallbackList({}, nullptr, {.verbose = 0}).callbacks().empty());
  for (int verbose : {1, 2}) {
    const CallbackList list({}, nullptr, {.verbose = verbose, .steps = 3});
    REQUIRE(list.callbacks().size() == 1);
    CHECK(callbacks::is_progbar_logger(list.callbacks()[0]));
  }
}

TEST_CASE("averaged and other metrics can't both be listed") {
  const ProgbarOptions options{.stateful_metrics = {"a"}, .stateless_metrics = {"b"}};
  CHECK_THROWS_WITH_AS(Progbar{options},
                       "Progbar: stateful_metrics and stateless_metrics were both given. Give one: "
                       "the metrics it doesn't name are of the other kind.",
                       InvalidArgument);
}

TEST_CASE("add counts on; the other metrics than the stateless ones are shown as they come") {
  Screen screen;
  Progbar bar({.target = 4, .verbose = 2, .stateless_metrics = {"loss"}},
              screen.output(ProgbarDisplay::Redraw));
  bar.add(1, {{"loss", 2.0}, {"rate", 2.0}});
  bar.add(2, {{"loss", 0.5}, {"rate", 0.5}});
  screen.now += 2;
  bar.update(4, {}, true);
  CHECK(screen.take() == "4/4 - 2s - 667ms/step - loss: 1.0000 - rate: 0.5000\n");
}

}  // namespace
}  // namespace cornu
