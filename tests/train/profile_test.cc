// SPDX-License-Identifier: Apache-2.0
#include "framework/train/profile.h"

#include <doctest/doctest.h>

#include <cornu/cornu.h>

#include <algorithm>
#include <thread>

#include "framework/io/gzip.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::message_of;
using test::Scratch;

constexpr int64_t kRows = 24;

Model classifier() {
  clear_session();
  set_random_seed(3);
  Sequential model({
      Input({.shape = {8, 8, 2}, .name = "x"}),
      layers::Conv2D({.filters = 4, .kernel_size = 3, .activation = "relu", .name = "conv"}),
      layers::Flatten({.name = "flat"}),
      layers::Dropout({.rate = 0.5, .name = "drop"}),
      layers::Dense({.units = 3, .name = "logits"}),
  });
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  return model;
}

Tensor pictures() { return random::uniform({kRows, 8, 8, 2}, {.seed = 1}); }
Tensor labels() { return ops::arange(0, kRows, 1, "int32") % 3; }

std::vector<std::string> layers_in(const Profile& profile) {
  std::vector<std::string> result;
  for (const ProfiledInstruction& instruction : profile.instructions) {
    result.insert(result.end(), instruction.layers.begin(), instruction.layers.end());
  }
  return result;
}

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::ranges::find(list, name) != list.end();
}

void check_sums(const Profile& profile) {
  double share = 0;
  double seconds = 0;
  for (const ProfiledInstruction& instruction : profile.instructions) {
    CHECK(!instruction.op.empty());
    CHECK(instruction.seconds >= 0);
    CHECK(instruction.bytes > 0);
    share += instruction.share;
    seconds += instruction.seconds;
  }
  CHECK(share == doctest::Approx(1));
  CHECK(profile.program_seconds > 0);
  CHECK(profile.step_seconds >= profile.program_seconds);
  // For a single run, the times of the instructions add up to the program's.
  const ProgramRun& run = profile.timeline.front();
  REQUIRE(run.ends.size() == profile.instructions.size());
  REQUIRE(run.program->instructions.size() == profile.instructions.size());
  CHECK(std::is_sorted(run.ends.begin(), run.ends.end()));
  CHECK(run.begin <= run.ends.front());
  if (profile.runs == 1) CHECK(seconds == doctest::Approx(profile.program_seconds));
}

TEST_CASE("a profile of a prediction names each instruction, with its layer") {
  Model model = classifier();
  const Profile profile = model.profile(pictures(), {.runs = 1});
  CHECK(profile.step == "predict_step");
  CHECK(profile.runs == 1);
  check_sums(profile);
  const auto named = [&](const std::string& layer) {
    return std::ranges::find_if(profile.instructions, [&](const ProfiledInstruction& entry) {
      return has(entry.layers, layer);
    });
  };
  REQUIRE(named("conv") != profile.instructions.end());
  CHECK(named("conv")->op == "conv_bias_act");
  REQUIRE(named("logits") != profile.instructions.end());
  CHECK(named("logits")->op == "matmul_bias_act");
  // 24 rows, 144 by 144 times 3 values: two operations each.
  REQUIRE(named("logits")->gflops.has_value());
  CHECK(*named("logits")->gflops * named("logits")->seconds ==
        doctest::Approx(2e-9 * kRows * 144 * 3));
  CHECK(*named("conv")->gflops * named("conv")->seconds ==
        doctest::Approx(2e-9 * kRows * 6 * 6 * 4 * 3 * 3 * 2));
  CHECK(named("logits")->bytes == 4 * (kRows * 144 + 144 * 3 + 3 + kRows * 3));
}

TEST_CASE("a profile of training has the backward pass and the update, and changes nothing") {
  Model model = classifier();
  Model same = classifier();
  const SeedSequence seeds = seed_sequence();
  const Profile profile = model.profile(pictures(), labels(), {.runs = 3, .warm_up = 0});
  CHECK(profile.step == "train_step");
  check_sums(profile);
  const std::vector<std::string> layers = layers_in(profile);
  for (const char* layer : {"conv", "logits", "gradients/conv", "gradients/logits", "adam"}) {
    CAPTURE(layer);
    CHECK(has(layers, layer));
  }
  CHECK(seed_sequence().drawn == seeds.drawn);
  CHECK(model.optimizer().iterations() == 0);
  const FitOptions options{.batch_size = 8, .epochs = 2, .verbose = 0};
  set_random_seed(9);
  model.fit(pictures(), labels(), options);
  set_random_seed(9);
  same.fit(pictures(), labels(), options);
  const auto weights = model.weights();
  const auto others = same.weights();
  for (size_t i = 0; i < weights.size(); ++i) {
    CHECK(weights[i].stored().to_vector<float>() == others[i].stored().to_vector<float>());
  }
}

TEST_CASE("a profile under a strategy is the first replica's") {
  distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  const auto scope = strategy.scope();
  Model model = classifier();
  const Profile profile = model.profile(pictures(), labels(), {.runs = 2});
  check_sums(profile);
  CHECK(profile.timeline.size() == 2);
}

TEST_CASE("a profile leaves the states of a stateful layer as they were, each replica's") {
  distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  const auto scope = strategy.scope();
  const Tensor x = random::normal({4, 3, 5}, {.seed = 1});
  const auto second_prediction = [&](bool profiles) {
    clear_session();
    set_random_seed(3);
    Sequential model({Input({.batch_shape = {2, 3, 5}}),
                      layers::LSTM({.units = 4, .stateful = true}), layers::Dense({.units = 1})});
    model.compile({.optimizer = "adam", .loss = "mse"});
    const Tensor first = model.predict_on_batch(x);
    if (profiles) {
      model.profile(x, {.runs = 1});
      model.profile(x, ops::zeros({4, 1}), {.runs = 1});
    }
    const Tensor second = model.predict_on_batch(x);
    CHECK(first.to_vector<float>() != second.to_vector<float>());
    return second.to_vector<float>();
  };
  CHECK(second_prediction(true) == second_prediction(false));
}

TEST_CASE("a profile as a table, as data and as a trace") {
  const Scratch scratch;
  Model model = classifier();
  const Profile profile = model.profile(pictures(), labels(), {.runs = 2});
  const std::string table = profile.table(2);
  CHECK(table.starts_with("Profile of train_step, medians of 2 runs\n"));
  CHECK(test::contains(table,
                       fmt::format(" {} more instructions: ", profile.instructions.size() - 2)));
  CHECK(std::count(table.begin(), table.end(), '\n') == 7);
  const std::string none = profile.table(0);
  CHECK(std::count(none.begin(), none.end(), '\n') == 5);
  const Json data = Json::parse(profile.to_json().dump());
  CHECK(data.at("instructions").size() == profile.instructions.size());
  CHECK(data.at("instructions")[0].at("op").as_string() == profile.instructions[0].op);
  profile.save_trace(scratch.path("t.json"));
  const std::string text = test::contents(scratch.path("t.json"));
  size_t events = 0;
  for (const Json& event : Json::parse(text).at("traceEvents").as_array()) {
    if (event.at("ph").as_string() == "X") ++events;
  }
  CHECK(events == profile.instructions.size());
  profile.save_trace(scratch.path("t.json.gz"));
  const std::string packed = test::contents(scratch.path("t.json.gz"));
  GzipReader reader(std::as_bytes(std::span(packed)), "t.json.gz");
  std::string unpacked(text.size() + 1, ' ');
  CHECK(reader.read(std::as_writable_bytes(std::span(unpacked))) == text.size());
  CHECK(unpacked.substr(0, text.size()) == text);
}

TEST_CASE("gzip data of nothing, and of more than a block") {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100'000}}) {
    CAPTURE(size);
    std::string text;
    PhiloxEngine engine(size);
    for (size_t i = 0; i < size; ++i) text += static_cast<char>(engine.below(256));
    const std::string packed = gzip(text);
    CHECK(is_gzip(std::as_bytes(std::span(packed))));
    GzipReader reader(std::as_bytes(std::span(packed)), "packed");
    std::string unpacked(size + 1, ' ');
    CHECK(reader.read(std::as_writable_bytes(std::span(unpacked))) == size);
    CHECK(unpacked.substr(0, size) == text);
  }
}

TEST_CASE("what can't be profiled says so, and leaves the model as it was") {
  Model model = classifier();
  const auto profiled = [&](const ProfileOptions& options) {
    return message_of([&] { model.profile(pictures(), options); });
  };
  CHECK(
      profiled({.runs = 0}) ==
      "Sequential 'sequential': profile expected 1 or more runs after 0 or more to warm up, got 0 "
      "and 3.");
  CHECK(profiled({.warm_up = -1}) ==
        "Sequential 'sequential': profile expected 1 or more runs after 0 or more to warm up, got "
        "10 and -1.");
  Sequential uncompiled({Input({.shape = {4}}), layers::Dense({.units = 1})});
  CHECK(test::contains(message_of<FailedPrecondition>([&] {
                         uncompiled.profile(ops::ones({2, 4}), ops::ones({2, 1}));
                       }),
                       "it must be compiled before its optimizer is used"));
  CHECK(uncompiled.profile(ops::ones({2, 4})).instructions.size() >= 1);
  Sequential eager({Input({.shape = {4}}), layers::Dense({.units = 1, .name = "only"})},
                   {.name = "eager"});
  eager.compile({.optimizer = "sgd", .loss = "mse", .run_eagerly = true});
  CHECK(test::contains(
      message_of<FailedPrecondition>([&] {
        eager.profile(ops::ones({2, 4}), ops::ones({2, 1}));
      }),
      "Sequential 'eager': its train_step runs as no compiled program that was measured"));
  const std::vector<float> before = model.weights()[0].stored().to_vector<float>();
  CHECK_THROWS_AS(model.profile(pictures(), Tensor::from({0, 1, 99}), {.runs = 1}), Error);
  CHECK(model.weights()[0].stored().to_vector<float>() == before);
}

TEST_CASE("a recorder sees the runs of its own thread alone, and only while it records") {
  Model model = classifier();
  model.predict_on_batch(pictures());
  ProgramRecorder first;
  ProgramRecorder second;
  CHECK(!ProgramRecorder::is_any_recording());
  first.start();
  first.start();
  second.start();
  model.predict_on_batch(pictures());
  first.stop();
  model.predict_on_batch(pictures());
  std::thread([&] { model.predict_on_batch(pictures()); }).join();
  second.stop();
  model.predict_on_batch(pictures());
  const auto runs_of = [](ProgramRecorder& recorder) {
    const std::vector<ProgramRun> runs = recorder.take();
    return std::ranges::count_if(
        runs, [](const ProgramRun& run) { return run.program->name == "predict_step"; });
  };
  CHECK(runs_of(first) == 1);
  CHECK(runs_of(second) == 2);
  CHECK(first.take().empty());
  CHECK(!ProgramRecorder::is_any_recording());
}

}  // namespace
}  // namespace cornu
