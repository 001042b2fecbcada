// SPDX-License-Identifier: Apache-2.0
// Changes that a resumed run detects: callbacks, the optimizer's options, the loss.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cornu/cornu.h>

#include "framework/saving/saved_variables.h"
#include "framework/train/worker_parts.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/train/changed_run.h"

using namespace cornu;
using test::message_of;
using testing::Changed;
using testing::inputs;
using testing::Killed;
using testing::labels;

namespace {

namespace one {
struct Recorder : Callback {
  int batches = 0;
  void on_train_batch_end(int64_t, const Logs&) override { ++batches; }
  RunState save_state() const override { return {.info = Json::array({batches})}; }
  void restore_state(const RunState& saved) override {
    batches = static_cast<int>(saved.info[0].as_int());
  }
};
}  // namespace one
namespace other {
struct Recorder : one::Recorder {
  RunState save_state() const override { return {.info = Json::object({{"n", batches}})}; }
  void restore_state(const RunState& saved) override {
    batches = static_cast<int>(saved.info.at("n").as_int());
  }
};
}  // namespace other

// A schedule without a config.
struct Constant : ScheduleImpl {
  Tensor operator()(const Tensor& step) const override {
    return ops::cast(step, DType::Float32) * 0.0f + 0.01f;
  }
  std::string class_name() const override { return "Constant"; }
  Json get_config() const override { throw InvalidArgument("no config"); }
};

}  // namespace

TEST_CASE("callbacks may be added, removed and come in another order") {
  const callbacks::EarlyStopping stopping({.monitor = "loss", .patience = 50});
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  const std::string added =
      "callback EarlyStopping wasn't part of the saved run; it starts without a state.";
  const std::string removed =
      "the saved run had a callback EarlyStopping that this program doesn't have; its state is "
      "dropped.";
  {
    const Changed run;
    run.kill({});
    Sequential model = run.compiled(adam());
    run.fit(model, {stopping});
    CHECK(testing::contains(run.log.text(), added));
    CHECK(stopping.best_epoch() == 1);
  }
  {
    const Changed run;
    run.kill({stopping});
    Sequential model = run.compiled(adam());
    run.fit(model, {});
    CHECK(testing::contains(run.log.text(), removed));
  }
  {
    const Changed run;
    const std::string csv = run.folder / "log.csv";
    run.kill({stopping, callbacks::CSVLogger({.filename = csv})});
    const callbacks::EarlyStopping same({.monitor = "loss", .patience = 50});
    Sequential model = run.compiled(adam());
    run.fit(model, {callbacks::CSVLogger({.filename = csv}), same});
    CHECK(same.best().has_value());
    const std::string rows = testing::read_file(csv);
    CHECK(testing::contains(rows, "\n0,"));
    CHECK(testing::contains(rows, "\n1,"));
    CHECK(!testing::contains(run.log.text(), "had"));
  }
  {
    const Changed run;
    run.kill({stopping});
    Sequential model = run.compiled(adam());
    CHECK(testing::contains(
        message_of<FailedPrecondition>(
            [&] { run.fit(model, {callbacks::EarlyStopping({.monitor = "val_loss"})}); }),
        "EarlyStopping: the saved run monitored 'loss', but this program monitors 'val_loss'. "
        "Restart the original program, or delete the saved state to start over."));
  }
}

TEST_CASE("of two callbacks that keep the state, the one that has the newest gives it") {
  for (const bool is_damaged : {false, true}) {
    CAPTURE(is_damaged);
    const Changed changed;
    // Saves after the first epoch of 6 batches; the other callback saves after each batch.
    const auto older = callbacks::ModelCheckpoint({.filepath = changed.folder / "m.keras"});
    changed.kill({older});
    const std::string state = changed.folder / ".m.keras.run/run_state";
    CHECK(std::filesystem::exists(state));
    if (is_damaged) testing::write_file(state, "damaged");
    Sequential model = changed.compiled(optimizers::Adam({.learning_rate = 0.01}));
    changed.fit(model, {older});
    CHECK(testing::contains(changed.log.text(), "Training resumes after batch 1 of epoch 2."));
    CHECK(testing::contains(changed.log.text(), "The state in '" +
                                                    (changed.folder / "backup").string() +
                                                    "' is used.") == is_damaged);
  }
}

TEST_CASE("of two callbacks of a class, each finds its own state") {
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  const auto stopping = [](const std::string& monitor) {
    return callbacks::EarlyStopping({.monitor = monitor, .patience = 50});
  };
  const Changed run;
  run.kill({stopping("loss"), stopping("lr")});
  {
    Sequential model = run.compiled(adam());
    CHECK_THROWS_AS(run.fit(model, {stopping("lr"), stopping("loss")}, 1), Killed);
  }
  Sequential model = run.compiled(adam());
  run.fit(model, {stopping("loss")});
  CHECK(
      testing::contains(run.log.text(), "a callback EarlyStopping that this program doesn't have"));
}

TEST_CASE("callbacks of the program's own: any state, names by namespace") {
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  const Changed run;
  run.kill({make_callback<one::Recorder>(), make_callback<other::Recorder>()});
  const auto first = make_callback<one::Recorder>();
  Sequential model = run.compiled(adam());
  run.fit(model, {make_callback<other::Recorder>(), first});
  CHECK(first->batches == 12);
  {
    const Changed removed;
    removed.kill({make_callback<one::Recorder>()});
    Sequential again = removed.compiled(adam());
    removed.fit(again, {make_callback<other::Recorder>()});
    CHECK(testing::contains(removed.log.text(), "one::Recorder that this program doesn't have"));
    CHECK(testing::contains(removed.log.text(), "other::Recorder wasn't part of the saved run"));
  }
}

namespace {

// Counts batches, in a tensor, starting at its own number.
struct Counter : Callback {
  explicit Counter(float first, std::string its_name = "")
      : count(first), name(std::move(its_name)) {}
  void on_train_batch_end(int64_t, const Logs&) override { ++count; }
  std::string state_name() const override { return name; }
  RunState save_state() const override {
    RunState state;
    state.tensors.emplace_back("count", Tensor::scalar(count));
    return state;
  }
  void restore_state(const RunState& saved) override {
    REQUIRE(saved.tensors.size() == 1);
    count = saved.tensors[0].second.item<float>();
  }

  float count;
  std::string name;
};

}  // namespace

TEST_CASE("each of several callbacks of the program's own class gets its own state") {
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  const auto counter = [](float first, const char* name = "") {
    return make_callback<Counter>(first, name);
  };
  {  // in order
    const Changed run;
    run.kill({counter(100), counter(200), counter(300)});
    const std::vector again = {counter(0), counter(0), counter(0)};
    Sequential model = run.compiled(adam());
    run.fit(model, {again[0], again[1], again[2]});
    for (size_t i = 0; i < again.size(); ++i) {
      CHECK(again[i]->count == 100 * static_cast<float>(i + 1) + 12);
    }
  }
  {  // by name, with one missing and the others in a different order
    const Changed run;
    run.kill({counter(100, "a"), counter(200, "b"), counter(300, "c")});
    const std::vector again = {counter(0, "c"), counter(0, "b")};
    Sequential model = run.compiled(adam());
    run.fit(model, {again[0], again[1]});
    CHECK(again[0]->count == 312);
    CHECK(again[1]->count == 212);
    CHECK(testing::contains(run.log.text(), "Counter that this program doesn't have"));
  }
  {  // one is new
    const Changed run;
    run.kill({counter(100, "a"), counter(200, "b")});
    const std::vector again = {counter(0, "new"), counter(0, "b"), counter(0, "a")};
    Sequential model = run.compiled(adam());
    run.fit(model, {again[0], again[1], again[2]});
    CHECK(again[0]->count == 5);
    CHECK(again[1]->count == 212);
    CHECK(again[2]->count == 112);
  }
}

TEST_CASE("of two files of one kind, each gets its own rows back") {
  const Changed run;
  const auto logger = [&](const std::string& name, bool tabs) {
    return callbacks::CSVLogger({.filename = run.folder / name, .separator = tabs ? "\t" : ","});
  };
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  run.kill({logger("a.csv", false), logger("b.csv", true)});
  Sequential model = run.compiled(adam());
  run.fit(model, {logger("b.csv", true), logger("a.csv", false)});
  const std::string commas = testing::read_file(run.folder / "a.csv");
  const std::string tabs = testing::read_file(run.folder / "b.csv");
  for (const std::string epoch : {"\n0", "\n1"}) {
    CHECK(testing::contains(commas, epoch + ","));
    CHECK(testing::contains(tabs, epoch + "\t"));
  }
}

TEST_CASE("CSVLogger appends to an earlier training's file without a second header") {
  const Changed run;
  const std::string csv = run.folder / "log.csv";
  const callbacks::CSVLogger logger({.filename = csv, .append = true});
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  Sequential earlier = run.compiled(adam());
  earlier.fit(inputs(), labels(), {.batch_size = 4, .verbose = 0, .callbacks = {logger}});
  const std::string text = testing::read_file(csv);
  Sequential killed = run.compiled(adam());
  CHECK_THROWS_AS(run.fit(killed, {logger}, 2), Killed);
  Sequential model = run.compiled(adam());
  run.fit(model, {logger});
  const std::string all = testing::read_file(csv);
  CHECK(all.starts_with(text + "0,"));
  CHECK(all.find("epoch", 1) == std::string::npos);
}

TEST_CASE("a run that can't begin leaves the file of the one that can as it is") {
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  {
    const Changed run;
    const std::string csv = run.folder / "log.csv";
    const callbacks::LambdaCallback starts_again({.on_epoch_end = [&](int64_t epoch, const Logs&) {
      if (epoch != 1) return;
      const std::string text = testing::read_file(csv);
      CHECK(testing::contains(text, "\n1,"));
      Sequential second({layers::Dense({.units = 3, .activation = "softmax"})});
      second.compile({.optimizer = adam(), .loss = "sparse_categorical_crossentropy"});
      CHECK(testing::contains(message_of<FailedPrecondition>([&] {
                                run.fit(second, {callbacks::CSVLogger({.filename = csv})});
                              }),
                              "another run that is alive"));
      CHECK(testing::read_file(csv) == text);
    }});
    Sequential first = run.compiled(adam());
    run.fit(first, {callbacks::CSVLogger({.filename = csv}), starts_again});
  }
  const Changed run;
  const std::string csv = run.folder / "log.csv";
  const callbacks::CSVLogger logger({.filename = csv});
  run.kill({logger});
  const std::string text = testing::read_file(csv);
  CHECK(testing::contains(text, "\n0,"));
  Sequential other = run.compiled("sgd");
  CHECK_THROWS_AS(run.fit(other, {logger}), FailedPrecondition);
  CHECK(testing::read_file(csv) == text);
  for (const std::string name : {"backup/run_state", "backup/run_state.previous"}) {
    testing::write_file(run.folder / name, "damaged");
  }
  Sequential same = run.compiled(adam());
  CHECK_THROWS_AS(run.fit(same, {logger}), DataLoss);
  CHECK(testing::read_file(csv) == text);
}

TEST_CASE("a link to the folder of the state stays when the state goes") {
  const Changed run;
  std::filesystem::create_directory(run.folder / "disk");
  std::filesystem::create_directory_symlink(run.folder / "disk", run.folder / "backup");
  Sequential model = run.compiled("sgd");
  run.fit(model, {});
  CHECK(std::filesystem::is_symlink(run.folder / "backup"));
  CHECK(std::filesystem::is_empty(run.folder / "disk"));
}

TEST_CASE("an optimizer without a config trains, and resumes") {
  const auto adam = [] {
    return optimizers::Adam({.learning_rate = LearningRate(std::make_shared<Constant>())});
  };
  const Changed run;
  Sequential plain = run.compiled(adam());
  plain.fit(inputs(), labels(), {.batch_size = 4, .verbose = 0});
  Sequential killed = run.compiled(adam());
  CHECK_THROWS_AS(run.fit(killed, {}, 7), Killed);
  Sequential model = run.compiled(adam());
  run.fit(model, {});
  CHECK(model.optimizer().iterations() == 12);
}

TEST_CASE("a checkpoint of every epoch doesn't care what would be best") {
  const auto keep = [](const Changed& run, const std::string& monitor, bool best) {
    return callbacks::ModelCheckpoint(
        {.filepath = run.folder / "{epoch}.keras", .monitor = monitor, .save_best_only = best});
  };
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  for (const bool best : {false, true}) {
    const Changed run;
    run.kill({keep(run, "loss", best)});
    Sequential model = run.compiled(adam());
    if (best) {
      CHECK_THROWS_AS(run.fit(model, {keep(run, "val_loss", best)}), FailedPrecondition);
    } else {
      run.fit(model, {keep(run, "val_loss", best)});
    }
  }
}

TEST_CASE("a resumed run says which options are others") {
  const Changed run;
  run.kill({});
  set_random_seed(12);
  Sequential model = run.compiled(optimizers::Adam({.learning_rate = 0.5, .beta_1 = 0.75}));
  run.fit(model, {});
  const std::string text = run.log.text();
  CHECK(testing::contains(text,
                          "The saved run drew its random numbers from seed 11, this program sets "
                          "12: it continues with 11, as saved."));
  CHECK(testing::contains(text, "fit: the optimizer's learning_rate was 0.01"));
  CHECK(testing::contains(text, "is 0.5 in this program. It continues with the saved run's value"));
  CHECK(testing::contains(text,
                          "fit: the optimizer's beta_1 was 0.9 in the saved run, but is 0.75 in "
                          "this program. It continues with 0.75, as this program says."));
  CHECK(model.optimizer().learning_rate().item<float>() == 0.01f);
}

namespace {

struct Program {
  std::string activation = "relu";
  double rate = 0.25;
  std::string loss = "sparse_categorical_crossentropy";
  float scale = 1.0f;
  std::map<int64_t, double> class_weight = {};
  bool has_dataset = false;
  int64_t epochs = 3;
};

// Trains six batches per epoch; returns the bytes of the weights.
std::string train(const Changed& run, const Program& program,
                  std::optional<int64_t> killed_at = {}) {
  clear_session();
  set_random_seed(11);
  Sequential model({layers::Dense({.units = 4, .activation = program.activation}),
                    layers::Dropout({.rate = program.rate}),
                    layers::Dense({.units = 3, .activation = "softmax"})});
  model.compile({.optimizer = "adam", .loss = program.loss});
  const FitOptions options{.epochs = program.epochs,
                           .verbose = 0,
                           .callbacks = {callbacks::BackupAndRestore(
                                             {.backup_dir = run.folder / "backup", .save_freq = 1}),
                                         make_callback<testing::KillAt>(killed_at)},
                           .class_weight = program.class_weight};
  const Tensor x = inputs() * program.scale;
  try {
    if (program.has_dataset) {
      model.fit(data::Dataset::from_tensor_slices({x, labels()}).batch(4), options);
    } else {
      FitOptions arrays = options;
      arrays.batch_size = 4;
      model.fit(x, labels(), arrays);
    }
  } catch (const Killed&) {
  }
  std::string bytes;
  for (const Tensor& weight : model.get_weights()) {
    bytes.append(reinterpret_cast<const char*>(weight.raw()), weight.bytes());
  }
  return bytes;
}

// Returns the warnings of a run that starts as `before` and resumes as `now`.
std::string warnings_of(const Program& before, const Program& now) {
  const Changed run;
  train(run, before, 7);
  train(run, now);
  return run.log.text();
}

}  // namespace

TEST_CASE("a resumed run says that its model or data are others") {
  const auto text = [](const std::string& difference) {
    return "fit: expected " + difference + ". It continues with this program's.";
  };
  CHECK(testing::contains(warnings_of({}, {.activation = "tanh"}),
                          text("\"relu\" at config.layers[0].config.activation of the model that "
                               "isn't built, as in the saved run, got \"tanh\"")));
  CHECK(testing::contains(warnings_of({}, {.rate = 0.5}),
                          text("0.25 at config.layers[1].config.rate of the model that isn't "
                               "built, as in the saved run, got 0.5")));
  CHECK(testing::contains(warnings_of({.class_weight = {{0, 2.0}}}, {.class_weight = {{0, 3.0}}}),
                          text("2.0 at 0 of the class_weight, as in the saved run, got 3.0")));
  CHECK(testing::contains(warnings_of({}, {.class_weight = {{1, 3.0}}}),
                          text("nothing at 1 of the class_weight, as in the saved run, got 3.0")));
  const std::string other_arrays = warnings_of({}, {.scale = 2.0f});
  CHECK(testing::contains(other_arrays, "fit: expected \"crc32c "));
  CHECK(testing::contains(other_arrays,
                          "at x[0] of the checksums of the arrays, as in the saved run"));
  CHECK(testing::contains(warnings_of({.has_dataset = true}, {.scale = 2.0f, .has_dataset = true}),
                          "of the pipeline, as in the saved run, got "));
}

TEST_CASE("a resumed run of the same model and data has nothing to say") {
  for (const bool has_dataset : {false, true}) {
    const Program program{.class_weight = {{0, 2.0}, {1, 0.1}}, .has_dataset = has_dataset};
    CHECK_FALSE(testing::contains(warnings_of(program, program), "fit: expected"));
  }
}

TEST_CASE("a state from before states had facts goes on") {
  const Changed run;
  const std::string whole = train(Changed(), {});
  train(run, {}, 7);
  const std::string path = run.folder / "backup/run_state";
  RunState state = read_run_state(path);
  Json::Object members;
  for (const auto& [name, value] : state.info.as_object()) {
    if (name != "facts" && name != "stopped") members.emplace_back(name, value);
  }
  state.info = Json::of_members(std::move(members));
  write_run_state(path, state);
  CHECK(train(run, {}) == whole);
  CHECK_FALSE(testing::contains(run.log.text(), "expected"));
}

TEST_CASE("fewer epochs than the state has: nothing is trained, and the state stays") {
  const std::string whole = train(Changed(), {});
  for (const int64_t killed_at : {7, 12}) {
    const Changed run;
    train(run, {}, killed_at);
    const std::string path = run.folder / "backup/run_state";
    const std::string before = testing::read_file(path);
    train(run, {.epochs = 1});
    CHECK(testing::contains(
        run.log.text(),
        fmt::format("fit: the state was saved after batch {} of epoch {}, but epochs is 1 in this "
                    "program: nothing is trained, and the saved state is kept. Increase epochs to "
                    "continue, or delete the state to start over.",
                    killed_at == 7 ? 1 : 6, 2)));
    CHECK(testing::read_file(path) == before);
    CHECK(train(run, {}) == whole);
    CHECK(!std::filesystem::exists(path));
  }
}

TEST_CASE("a resumed run says that it minimizes or measures something else") {
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  const Changed run;
  run.kill({});
  Sequential model = run.compiled(adam());
  model.compile(
      {.optimizer = adam(), .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  run.fit(model, {});
  CHECK(testing::contains(run.log.text(),
                          "fit: expected \"sparse_categorical_crossentropy\" for the loss, as in "
                          "the saved run, got {"));
  const Changed same;
  same.kill({});
  Sequential again = same.compiled(adam());
  same.fit(again, {});
  CHECK_FALSE(testing::contains(same.log.text(), "for the loss"));
}

class Forgetful : public Callback {
 public:
  std::string class_name() const override { return "Forgetful"; }
  RunState save_state() const override {
    RunState state;
    state.info = Json::object({{"known", 1}});
    return state;
  }
  void restore_state(const RunState&) override { raise<DataLoss>("it isn't what it was."); }
};

TEST_CASE("an error about a callback's state names the callback") {
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  const Changed run;
  run.kill({make_callback<Forgetful>()});
  Sequential model = run.compiled(adam());
  const std::string error =
      test::message_of<DataLoss>([&] { run.fit(model, {make_callback<Forgetful>()}); });
  CHECK(testing::contains(error, "the saved state of Forgetful: it isn't what it was."));
}

// The additional variables are written only by the step, where this program's step writes fewer.
TEST_CASE("the parts of more workers may have more variables than this program") {
  const VariableOptions options = {.trainable = false,
                                   .synchronization = VariableSynchronization::OnRead,
                                   .aggregation = VariableAggregation::Sum};
  RunState own;
  save_variables(own, kOwnVariables,
                 {Variable(Tensor::scalar(2.0), options), Variable(ops::ones({64}), options)});
  const std::string bytes = encode_run_state(own);
  RunState state;
  state.info = Json::object({{"workers", 2}});
  for (const char* name : {"worker 0", "worker 1"}) {
    state.tensors.emplace_back(name,
                               Tensor::from(std::vector<uint8_t>(bytes.begin(), bytes.end())));
  }
  const Variable sum(Tensor::scalar(0.0), options);
  restore_own_variables(state, {sum});
  CHECK(sum.value().item<double>() == 4);
}

TEST_CASE("saved variables of a damaged count are refused") {
  RunState state;
  save_variables(state, "model", {Variable(Tensor::scalar(2.0))});
  const Variable variable(Tensor::scalar(0.0));
  for (const int64_t count : {int64_t{-1}, int64_t{2}, int64_t{1} << 62}) {
    state.info.set("variables", Json::object({{"model", count}}));
    CHECK(message_of<DataLoss>([&] { restore_variables(state, "model", {variable}); }) ==
          fmt::format("Saved variables: expected a count of 'model' among 1 tensors, got {}.",
                      count));
  }
  CHECK(variable.value().item<double>() == 0);
}
