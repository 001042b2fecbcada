// SPDX-License-Identifier: Apache-2.0
// The files that the TensorBoard callback writes, read by the test's own reader.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>
#include <numeric>
#include <set>

#include <cornu/cornu.h>

#include "data/readers/image/decode_image.h"
#include "framework/callbacks/model_graph.h"
#include "framework/callbacks/summaries.h"
#include "tests/callbacks/toy_fit.h"
#include "tests/support/events.h"
#include "tests/support/log.h"
#include "tests/support/processes.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::EventRead;
using test::events_in;
using test::Log;
using test::Message;
using test::message_of;
using test::Scratch;

using Points = std::vector<std::pair<int64_t, float>>;  // steps and values

std::vector<EventRead> of_tag(const std::vector<EventRead>& events, const std::string& tag) {
  std::vector<EventRead> result;
  for (const EventRead& event : events) {
    if (event.tag == tag) result.push_back(event);
  }
  return result;
}

Points scalars(const std::vector<EventRead>& events, const std::string& tag) {
  Points points;
  for (const EventRead& event : of_tag(events, tag)) {
    CHECK(event.plugin == "scalars");
    CHECK(event.data_class == 1);
    CHECK(event.dtype == 1);  // DT_FLOAT
    CHECK(event.shape.empty());
    points.emplace_back(event.step, event.scalar());
  }
  return points;
}

std::vector<int64_t> steps(const std::vector<EventRead>& events, const std::string& tag) {
  std::vector<int64_t> result;
  for (const EventRead& event : of_tag(events, tag)) result.push_back(event.step);
  return result;
}

std::set<std::string> tags(const std::vector<EventRead>& events) {
  std::set<std::string> result;
  for (const EventRead& event : events) {
    if (!event.tag.empty()) result.insert(event.tag);
  }
  return result;
}

using Steps = std::vector<int64_t>;

// A classifier's 20 rows of 4 features, in 4 batches of 5.
Tensor rows() { return random::normal({20, 4}, {.seed = 3}); }
Tensor labels() { return random::randint({20}, 0, 3, {.seed = 4}); }

Sequential classifier() {
  clear_session();
  set_random_seed(5);
  Sequential model({Input({.shape = {4}}), layers::Dense({.units = 5, .name = "a"}),
                    layers::Dense({.units = 3, .name = "b"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.5}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  return model;
}

History train(Sequential& model, const std::vector<CallbackHandle>& callbacks, int64_t epochs = 3) {
  return model.fit(rows(), labels(),
                   {.batch_size = 5,
                    .epochs = epochs,
                    .verbose = 0,
                    .callbacks = callbacks,
                    .validation_data = {rows(), labels()}});
}

std::vector<double> values_of(const Points& points) {
  std::vector<double> values;
  for (const auto& point : points) values.push_back(static_cast<double>(point.second));
  return values;
}

// ---- what it writes ----

TEST_CASE("TensorBoard writes the metrics of epochs and evaluations") {
  const Scratch scratch;
  const callbacks::TensorBoard board({.log_dir = scratch.path("logs")});
  Sequential model = classifier();
  const History history = train(model, {board});
  const std::vector<EventRead> train_events = events_in(scratch.path("logs/train"));
  const std::vector<EventRead> validation = events_in(scratch.path("logs/validation"));

  CHECK(tags(train_events) ==
        std::set<std::string>{"keras", "epoch_loss", "epoch_accuracy", "epoch_learning_rate"});
  CHECK(tags(validation) == std::set<std::string>{"epoch_loss", "epoch_accuracy",
                                                  "evaluation_loss_vs_iterations",
                                                  "evaluation_accuracy_vs_iterations"});
  CHECK(steps(train_events, "epoch_loss") == Steps{0, 1, 2});
  CHECK(steps(validation, "epoch_accuracy") == Steps{0, 1, 2});
  CHECK(values_of(scalars(train_events, "epoch_loss")) == history["loss"]);
  CHECK(values_of(scalars(validation, "epoch_accuracy")) == history["val_accuracy"]);
  CHECK(values_of(scalars(validation, "evaluation_loss_vs_iterations")) == history["val_loss"]);
  CHECK(steps(validation, "evaluation_loss_vs_iterations") == Steps{4, 8, 12});
  CHECK(scalars(train_events, "epoch_learning_rate") == Points{{0, 0.5f}, {1, 0.5f}, {2, 0.5f}});

  model.evaluate(rows(), labels(), {.verbose = 0, .callbacks = {board}});
  CHECK(steps(events_in(scratch.path("logs/validation")), "evaluation_loss_vs_iterations") ==
        Steps{4, 8, 12, 12});
  CHECK(events_in(scratch.path("logs/train")).size() == train_events.size());
}

TEST_CASE("TensorBoard writes batches as often as update_freq says") {
  const auto batches = [](const callbacks::UpdateFrequency& update_freq) {
    const Scratch scratch;
    Sequential model = classifier();
    train(model, {callbacks::TensorBoard({.log_dir = scratch.path(), .update_freq = update_freq})});
    const std::vector<EventRead> events = events_in(scratch.path("train"));
    CHECK(steps(events, "epoch_loss") == Steps{0, 1, 2});
    CHECK(steps(events, "batch_loss") == steps(events, "batch_accuracy"));
    // The logs of an epoch's last batch are the epoch's averages.
    const Points epochs = scalars(events, "epoch_loss");
    for (const auto& [step, loss] : scalars(events, "batch_loss")) {
      if (step % 4 == 0) CHECK(loss == epochs.at(static_cast<size_t>(step / 4 - 1)).second);
    }
    CHECK(steps(events_in(scratch.path("validation")), "evaluation_loss_vs_iterations") ==
          Steps{4, 8, 12});
    return steps(events, "batch_loss");
  };
  CHECK(batches("epoch").empty());
  CHECK(batches("batch") == Steps{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(batches(3) == Steps{3, 6, 9, 12});
  CHECK(batches(5) == Steps{5, 10});
  CHECK(batches(1000).empty());
}

TEST_CASE("a further fit counts batches from 1, and evaluations by iterations") {
  const Scratch scratch;
  const callbacks::TensorBoard board({.log_dir = scratch.path(), .update_freq = 4});
  Sequential model = classifier();
  train(model, {board}, 1);
  train(model, {board}, 1);
  CHECK(steps(events_in(scratch.path("train")), "batch_loss") == Steps{4, 4});
  CHECK(steps(events_in(scratch.path("validation")), "evaluation_loss_vs_iterations") ==
        Steps{4, 8});
}

TEST_CASE("TensorBoard writes steps per second") {
  const Scratch scratch;
  Sequential model = classifier();
  train(model, {callbacks::TensorBoard(
                   {.log_dir = scratch.path(), .write_steps_per_second = true, .update_freq = 2})});
  const std::vector<EventRead> events = events_in(scratch.path("train"));
  CHECK(steps(events, "epoch_steps_per_second") == Steps{0, 1, 2});
  CHECK(steps(events, "batch_steps_per_second") == Steps{2, 4, 6, 8, 10, 12});
  for (const char* tag : {"epoch_steps_per_second", "batch_steps_per_second"}) {
    for (const auto& [step, value] : scalars(events, tag)) {
      CHECK(value > 0);
      CHECK(std::isfinite(value));
    }
  }
}

TEST_CASE("TensorBoard writes histograms and pictures of the weights") {
  const Scratch scratch;
  Sequential model = classifier();
  train(model, {callbacks::TensorBoard(
                   {.log_dir = scratch.path(), .histogram_freq = 2, .write_images = true})});
  const std::vector<EventRead> events = events_in(scratch.path("train"));
  for (const Variable& weight : model.weights()) {
    CAPTURE(weight.path());
    const std::vector<EventRead> histograms = of_tag(events, weight.path() + "/histogram");
    CHECK(steps(events, weight.path() + "/histogram") == Steps{0, 2});
    REQUIRE(histograms.size() == 2);
    const EventRead& last = histograms.back();
    CHECK(last.plugin == "histograms");
    CHECK(last.data_class == 2);
    CHECK(last.dtype == 2);  // DT_DOUBLE
    CHECK(last.shape == std::vector<int64_t>{30, 3});
    // The weights after the last epoch.
    const std::vector<float> values = weight.to_vector<float>();
    const std::vector<double> buckets = last.values<double>();
    REQUIRE(buckets.size() == 90);
    CHECK(buckets[0] == static_cast<double>(*std::min_element(values.begin(), values.end())));
    CHECK(buckets[88] == static_cast<double>(*std::max_element(values.begin(), values.end())));
    double count = 0;
    for (size_t i = 2; i < buckets.size(); i += 3) count += buckets[i];
    CHECK(count == static_cast<double>(values.size()));

    const std::vector<EventRead> images = of_tag(events, weight.path() + "/image");
    REQUIRE(images.size() == 2);
    CHECK(images[0].plugin == "images");
    CHECK(images[0].data_class == 3);
    CHECK(images[0].dtype == 7);  // DT_STRING
    CHECK(images[0].strings.size() == 3);
  }
}

TEST_CASE("TensorBoard writes the model's config and the graph of its layers") {
  const Scratch scratch;
  Sequential model = classifier();
  train(model,
        {callbacks::TensorBoard({.log_dir = scratch.path("with")}),
         callbacks::TensorBoard({.log_dir = scratch.path("without"), .write_graph = false})});
  const std::vector<EventRead> events = events_in(scratch.path("with/train"));
  const std::vector<EventRead> configs = of_tag(events, "keras");
  REQUIRE(configs.size() == 1);
  CHECK(configs[0].plugin == "graph_keras_model");
  CHECK(configs[0].plugin_content == "1");
  REQUIRE(configs[0].strings.size() == 1);
  const Json config = Json::parse(configs[0].strings[0]);
  CHECK(config.at("class_name").as_string() == "Sequential");
  CHECK(config.at("config").at("layers").size() == 3);

  REQUIRE(events.size() > 2);
  const std::vector<std::string> nodes = Message(events[2].graph).all(1);
  REQUIRE(nodes.size() == 3);
  const Message last(nodes[2]);
  CHECK(last.text(1) == "b");
  CHECK(last.text(2) == "Dense");
  CHECK(last.all(3) == std::vector<std::string>{"a"});
  // _output_shapes: (None, 3)
  const Message attribute(last.text(5));
  CHECK(attribute.text(1) == "_output_shapes");
  const std::vector<std::string> dims = attribute.message(2).message(1).message(7).all(2);
  REQUIRE(dims.size() == 2);
  CHECK(static_cast<int64_t>(Message(dims[0]).number(1)) == -1);
  CHECK(Message(dims[1]).number(1) == 3);

  for (const EventRead& event : events_in(scratch.path("without/train"))) {
    CHECK(event.tag != "keras");
    CHECK(event.graph.empty());
  }
}

TEST_CASE("a Sequential model without an Input has a graph after its first epoch") {
  const Scratch scratch;
  Sequential model({layers::Dense({.units = 3})});
  model.compile({.loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  train(model, {callbacks::TensorBoard({.log_dir = scratch.path()})}, 2);
  const std::vector<EventRead> events = events_in(scratch.path("train"));
  CHECK(steps(events, "keras") == Steps{0});
  CHECK(std::count_if(events.begin(), events.end(),
                      [](const EventRead& event) { return !event.graph.empty(); }) == 1);
}

TEST_CASE("a subclassed model is recorded without a graph") {
  const Scratch scratch;
  test::Fit fit({callbacks::TensorBoard({.log_dir = scratch.path(), .histogram_freq = 1})});
  fit.epoch({{"loss", 0.5}, {"val_loss", 0.25}});
  const std::vector<EventRead> events = events_in(scratch.path("train"));
  CHECK(tags(events) == std::set<std::string>{"epoch_loss", "epoch_learning_rate"});
  CHECK(scalars(events_in(scratch.path("validation")), "epoch_loss") == Points{{0, 0.25f}});
}

TEST_CASE("nodes of a graph: layers that are called twice, and several inputs") {
  clear_session();
  const Tensor x = Input({.shape = {4}, .name = "x"});
  const Tensor y = Input({.shape = {4}, .name = "y"});
  const layers::Dense shared({.units = 2, .name = "shared"});
  const layers::Dense other({.units = 2, .name = "shared_1"});
  const Tensor sum = layers::Add({.name = "sum"})({shared(x), shared(y), other(x)});
  const FunctionalGraph graph({x, y}, {sum});
  std::map<std::string, std::pair<std::string, std::vector<std::string>>> nodes;
  for (const std::string& bytes : Message(callbacks::model_graph(graph)).all(1)) {
    const Message node(bytes);
    nodes[node.text(1)] = {node.text(2), node.all(3)};
  }
  using Inputs = std::vector<std::string>;
  REQUIRE(nodes.size() == 6);
  CHECK(nodes.at("x") == std::pair<std::string, Inputs>("InputLayer", {}));
  CHECK(nodes.at("shared") == std::pair<std::string, Inputs>("Dense", {"x"}));
  CHECK(nodes.at("shared_2") == std::pair<std::string, Inputs>("Dense", {"y"}));
  CHECK(nodes.at("shared_1") == std::pair<std::string, Inputs>("Dense", {"x"}));
  CHECK(nodes.at("sum") ==
        std::pair<std::string, Inputs>("Add", {"shared", "shared_2", "shared_1"}));
}

// ---- summaries ----

TEST_CASE("histograms of nothing, of one value, and of what isn't a number") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const auto& bucket : callbacks::histogram_buckets({})) {
    CHECK(bucket == std::array<double, 3>{0, 0, 0});
  }
  const callbacks::Buckets same = callbacks::histogram_buckets({2.5, 2.5, 2.5});
  for (size_t i = 0; i < same.size(); ++i) {
    CHECK(same[i] == std::array<double, 3>{2.5, 2.5, i + 1 == same.size() ? 3.0 : 0.0});
  }
  for (const auto& bucket : callbacks::histogram_buckets({1, nan, 2})) {
    CHECK(std::isnan(bucket[0]));
    CHECK(std::isnan(bucket[1]));
    CHECK(bucket[2] == 0);
  }
  const callbacks::Buckets endless = callbacks::histogram_buckets({1, inf, 2});
  CHECK(endless[0] == std::array<double, 3>{1, inf, 2});
  CHECK(endless[29] == std::array<double, 3>{inf, inf, 0});
  const callbacks::Buckets below = callbacks::histogram_buckets({-inf, 1, 2});
  CHECK(below[0][0] == -inf);
  CHECK(below[29][1] == 2);
}

TEST_CASE("buckets are equally wide, and the last one has its right edge") {
  std::vector<double> values(31);
  std::iota(values.begin(), values.end(), 0.0);
  const callbacks::Buckets buckets = callbacks::histogram_buckets(values);
  for (size_t i = 0; i < buckets.size(); ++i) {
    CHECK(buckets[i][0] == static_cast<double>(i));
    CHECK(buckets[i][1] == static_cast<double>(i + 1));
    CHECK(buckets[i][2] == (i == 29 ? 2.0 : 1.0));
  }
}

struct Pictures {
  std::string size;  // "width height"
  std::vector<Tensor> pixels;
};

std::optional<Pictures> pictures_of(const Tensor& weight) {
  const auto value = callbacks::image_summary("w", weight);
  if (!value) return std::nullopt;
  const Message tensor = Message(*value).message(8);
  std::vector<std::string> strings = tensor.all(8);
  Pictures pictures{strings.at(0) + " " + strings.at(1), {}};
  for (size_t i = 2; i < strings.size(); ++i) {
    const auto bytes = std::as_bytes(std::span(strings[i].data(), strings[i].size()));
    pictures.pixels.push_back(data::decode_image(bytes));
  }
  return pictures;
}

std::vector<int> levels(const Tensor& picture) {
  const std::vector<uint8_t> values = picture.to_vector<uint8_t>();
  return {values.begin(), values.end()};
}

TEST_CASE("weights as pictures, laid out as Keras does") {
  SUBCASE("a vector is a column, clipped to 0 and 1") {
    const auto bias = pictures_of(Tensor::from<float>({-1, 0, 0.5, 1, 7, NAN}));
    REQUIRE(bias);
    CHECK(bias->size == "1 6");
    REQUIRE(bias->pixels.size() == 1);
    CHECK(bias->pixels[0].shape() == Shape{6, 1, 1});
    CHECK(levels(bias->pixels[0]) == std::vector<int>{0, 0, 127, 255, 255, 0});
  }
  SUBCASE("a matrix lies down") {
    const auto kernel = pictures_of(Tensor::from<float>({0, 1, 0, 0, 1, 0}, {3, 2}));
    REQUIRE(kernel);
    CHECK(kernel->size == "3 2");
    CHECK(levels(kernel->pixels.at(0)) == std::vector<int>{0, 0, 255, 255, 0, 0});
  }
  SUBCASE("three axes are at most three pictures") {
    const auto kernel =
        pictures_of(ops::reshape(ops::arange(0, 40, 1, "float32") / 255.0f, {2, 4, 1, 5}));
    REQUIRE(kernel);
    CHECK(kernel->size == "4 2");
    REQUIRE(kernel->pixels.size() == 3);
    CHECK(levels(kernel->pixels[1]) == std::vector<int>{1, 6, 11, 16, 21, 26, 31, 36});
  }
  SUBCASE("four axes are colored pictures, or none") {
    const auto kernel = pictures_of(ops::ones({2, 5, 6, 3}));
    REQUIRE(kernel);
    CHECK(kernel->size == "6 5");
    CHECK(kernel->pixels.size() == 2);
    CHECK(kernel->pixels[0].shape() == Shape{5, 6, 3});
    CHECK_FALSE(pictures_of(ops::ones({3, 3, 8, 16})));
    CHECK_FALSE(pictures_of(ops::ones({2, 2, 2, 2, 3})));
  }
  SUBCASE("other dtypes") {
    CHECK_FALSE(pictures_of(Tensor::from<int32_t>({1, 2, 3})));
    CHECK_FALSE(pictures_of(Tensor(1.0f)));
    CHECK_FALSE(pictures_of(ops::zeros({0, 3})));
    const auto half = pictures_of(ops::cast(Tensor::from<float>({0, 0.5, 1}), "float16"));
    REQUIRE(half);
    CHECK(levels(half->pixels.at(0)) == std::vector<int>{0, 127, 255});
  }
}

// ---- runs that resume, end or fail ----

struct Killed : std::exception {};

// Throws after a batch, counted from the start of this program's training.
class KillAt : public Callback {
 public:
  explicit KillAt(int64_t batch) : batch_(batch) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (++seen_ == batch_) throw Killed();
  }

 private:
  int64_t batch_;
  int64_t seen_ = 0;
};

TEST_CASE("the steps of a run that resumes go on where they were") {
  for (const callbacks::SaveFrequency& save_freq :
       {callbacks::SaveFrequency("epoch"), callbacks::SaveFrequency(1)}) {
    const Scratch scratch;
    const auto run = [&](const std::string& log_dir, const std::vector<CallbackHandle>& more) {
      Sequential model = classifier();
      std::vector<CallbackHandle> all = {callbacks::TensorBoard(
          {.log_dir = scratch.path(log_dir), .histogram_freq = 1, .update_freq = 1})};
      all.insert(all.end(), more.begin(), more.end());
      train(model, all);
    };
    const callbacks::BackupAndRestore backup(
        {.backup_dir = scratch.path("backup"), .save_freq = save_freq});
    run("whole", {});
    CHECK_THROWS_AS(run("parts", {backup, make_callback<KillAt>(6)}), Killed);
    run("parts", {backup});

    for (const std::string folder : {"train", "validation"}) {
      const auto whole = events_in(scratch.path("whole/" + folder));
      const auto parts = events_in(scratch.path("parts/" + folder));
      CHECK(tags(whole) == tags(parts));
      for (const std::string& tag : tags(whole)) {
        CAPTURE(tag);
        // Steps that were trained again occur twice, with the same values.
        const auto by_step = [&](const std::vector<EventRead>& events) {
          std::map<int64_t, std::set<std::string>> result;
          for (const EventRead& event : of_tag(events, tag)) {
            result[event.step].insert(event.content);
          }
          return result;
        };
        CHECK(by_step(whole) == by_step(parts));
      }
    }
    const bool each_batch = save_freq.batches().has_value();
    const Steps again = each_batch ? Steps{1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11, 12}
                                   : Steps{1, 2, 3, 4, 5, 6, 5, 6, 7, 8, 9, 10, 11, 12};
    CHECK(steps(events_in(scratch.path("parts/train")), "batch_loss") == again);
  }
}

TEST_CASE("what a training that fails has recorded is there") {
  const Scratch scratch;
  Sequential model = classifier();
  const callbacks::TensorBoard board({.log_dir = scratch.path(), .update_freq = 1});
  CHECK_THROWS_AS(train(model, {board, make_callback<KillAt>(6)}), Killed);
  const std::vector<EventRead> events = events_in(scratch.path("train"));
  CHECK(steps(events, "batch_loss") == Steps{1, 2, 3, 4, 5, 6});
  CHECK(steps(events, "epoch_loss") == Steps{0});
}

TEST_CASE("a log_dir that can't be written is an error before training") {
  const Scratch scratch;
  test::put(scratch.path("file"), "");
  const std::string log_dir = scratch.path("file/logs");
  const callbacks::TensorBoard board({.log_dir = log_dir});
  Sequential model = classifier();
  const std::vector<Tensor> before = model.get_weights();

  CHECK(contains(message_of<FailedPrecondition>([&] { train(model, {board}); }),
                 "TensorBoard: the directory '" + log_dir + "/train' can't be created"));
  CHECK(before[0].to_vector<float>() == model.get_weights()[0].to_vector<float>());
  CHECK(contains(message_of<FailedPrecondition>([&] {
                   model.evaluate(rows(), labels(), {.verbose = 0, .callbacks = {board}});
                 }),
                 "TensorBoard: the directory '" + log_dir + "/validation' can't be created"));
}

TEST_CASE("a disk that is full before training is an error") {
  const Scratch scratch;
  // A limit on file sizes simulates a full disk; it ends with the process.
  const int ended = test::forked([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{10, RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const std::string message = message_of<FailedPrecondition>(
        [&] { test::Fit({callbacks::TensorBoard({.log_dir = scratch.path()})}); });
    return contains(message, "TensorBoard: no file can be made in the log_dir '" + scratch.path() +
                                 "': '" + scratch.path("train/events.out.tfevents.")) &&
           contains(message, "can't be written: File too large.");
  });
  CHECK(ended == 0);
  CHECK(std::filesystem::is_empty(scratch.path("train")));
}

TEST_CASE("on a full disk TensorBoard warns once, and training goes on") {
  const Scratch scratch;
  // A limit on file sizes simulates a full disk; it ends with the process.
  const int ended = test::forked([&] {
    const Log log;
    signal(SIGXFSZ, SIG_IGN);
    test::Fit fit({callbacks::TensorBoard({.log_dir = scratch.path(), .write_graph = false})});
    fit.epoch({{"loss", 1}});
    const auto limit_size = [](rlim_t bytes) {
      const rlimit limit{bytes, RLIM_INFINITY};
      return setrlimit(RLIMIT_FSIZE, &limit) == 0;
    };
    if (!limit_size(100)) return false;
    fit.epoch({{"loss", 2}});
    fit.epoch({{"loss", 3}});
    if (!limit_size(RLIM_INFINITY)) return false;
    fit.epoch({{"loss", 4}});
    const std::string text = log.text();
    const std::string warning = "TensorBoard leaves out events until it can be written again.";
    return contains(text, "can't be written: File too large") && contains(text, warning) &&
           text.find(warning) == text.rfind(warning);
  });
  CHECK(ended == 0);
  CHECK(scalars(events_in(scratch.path("train")), "epoch_loss") == Points{{0, 1}, {3, 4}});
}

TEST_CASE("TensorBoard's options") {
  using callbacks::TensorBoard;
  const std::string expected =
      "profile_batch: expected 0 (none), a batch counted from 1, or a first and a last one, got ";
  CHECK(message_of([] { TensorBoard({.profile_batch = -1}); }) == expected + "-1 and -1.");
  CHECK(message_of([] { TensorBoard({.profile_batch = {3, 2}}); }) == expected + "3 and 2.");
  CHECK(message_of<InvalidArgument>([] { TensorBoard({.embeddings_freq = -1}); }) ==
        "TensorBoard: expected an embeddings_freq of 0 or more epochs, got -1.");
  CHECK(message_of([] { TensorBoard({.histogram_freq = -1}); }) ==
        "TensorBoard: expected a histogram_freq of 0 or more epochs, got -1.");
  CHECK(message_of([] { TensorBoard({.log_dir = ""}); }) ==
        "TensorBoard: expected a log_dir, got none.");
  CHECK(message_of([] { TensorBoard({.update_freq = "step"}); }) ==
        "update_freq: expected \"epoch\", \"batch\" or a number of batches, got \"step\".");
  CHECK(message_of([] { TensorBoard({.update_freq = 0}); }) ==
        "update_freq: expected \"epoch\", \"batch\" or a number of batches, got 0.");
}

TEST_CASE("records of a program's own: when they are written, and what is refused") {
  const Scratch scratch;
  SummaryWriter writer(scratch.path("logs/own"));
  for (int step = 0; step < 10; ++step) writer.scalar("x", step, step);
  CHECK(of_tag(events_in(scratch.path("logs/own")), "x").size() == 10);
  writer.scalar("x", 10, 10);
  CHECK(of_tag(events_in(scratch.path("logs/own")), "x").size() == 10);
  writer.flush();
  CHECK(of_tag(events_in(scratch.path("logs/own")), "x").size() == 11);
  writer.scalar("x", 11, 11);
  SummaryWriter other(std::move(writer));
  CHECK(message_of<FailedPrecondition>([&] { writer.flush(); }) ==
        "SummaryWriter: used after it was moved from.");
  other = SummaryWriter(scratch.path("logs/other"));  // which closes the first one
  CHECK(of_tag(events_in(scratch.path("logs/own")), "x").size() == 12);
  CHECK(message_of<InvalidArgument>([&] {
          other.image("p", ops::ones({4, 4, 3}), 0);
        }) ==
        "image 'p': expected images (count, height, width, 1, 3 or 4) of uint8 or floats from 0 to "
        "1, got (4, 4, 3) of float32.");
  CHECK(message_of<InvalidArgument>([&] { other.image("p", ops::ones({0, 4, 4, 3}), 0); }) != "");
  CHECK(message_of<InvalidArgument>([&] {
          other.image("p", ops::ones({1, 4, 4, 3}), 0, 0);
        }) == "image 'p': expected max_outputs >= 1, got 0.");
  CHECK(message_of<FailedPrecondition>([] {
          SummaryWriter("/proc/none");
        }).starts_with("SummaryWriter: the directory '/proc/none' can't be created: "));
}

TEST_CASE("embeddings whose layer isn't there are a warning") {
  const Scratch scratch;
  Log log;
  const Tensor x = ops::ones({4, 3});
  Sequential model({layers::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const callbacks::TensorBoard board({.log_dir = scratch.path(),
                                      .embeddings_freq = 1,
                                      .embeddings_metadata = {{"words", "w.tsv"}}});
  model.fit(x, ops::ones({4, 1}), {.verbose = 0, .callbacks = {board}});
  CHECK(contains(log.text(),
                 "TensorBoard: embeddings aren't written. embeddings_metadata: expected names of "
                 "Embedding layers, or \"\" where there is one; got \"words\" with 0 of them."));
}

}  // namespace
}  // namespace cornu
