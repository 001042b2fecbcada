// SPDX-License-Identifier: Apache-2.0
// A run that was stopped anywhere goes on as if it had not been.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cornu/cornu.h>

#include "framework/core/threads.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/log.h"

using namespace cornu;
using test::message_of;
using testing::TempFolder;

namespace {

constexpr int64_t kRows = 22;
constexpr int64_t kEpochs = 4;

struct Killed : std::exception {};

// Throws after a batch, counted from the start of training.
class KillAt : public Callback {
 public:
  explicit KillAt(std::optional<int64_t> batch) : batch_(batch) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (batch_ && seen_++ == *batch_) throw Killed();
  }

 private:
  std::optional<int64_t> batch_;
  int64_t seen_ = 0;
};

// What a run leaves: everything that has to be equal.
struct Outcome {
  std::vector<std::string> bytes;
  std::string history;
  std::string csv;
  bool operator==(const Outcome&) const = default;
};

std::string bytes_of(const Tensor& tensor) {
  std::string bytes(tensor.bytes(), '\0');
  tensor.copy_to_host(reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

Sequential make_model() {
  Sequential model({layers::Dense({.units = 6, .activation = "relu"}),
                    layers::Dropout({.rate = 0.3}), layers::BatchNormalization(),
                    layers::Dense({.units = 3, .activation = "softmax"})});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01}),
                 .loss = "sparse_categorical_crossentropy",
                 .metrics = {"accuracy"}});
  return model;
}

using Fit = std::function<History(Sequential&, const std::vector<CallbackHandle>&)>;
// Makes the callback that keeps the state.
using Keeper = std::function<CallbackHandle(const TempFolder&)>;

Keeper backup(const callbacks::SaveFrequency& save_freq) {
  return [=](const TempFolder& folder) {
    return callbacks::BackupAndRestore({.backup_dir = folder / "backup", .save_freq = save_freq});
  };
}
Keeper checkpoint(const callbacks::SaveFrequency& save_freq) {
  return [=](const TempFolder& folder) {
    return callbacks::ModelCheckpoint({.filepath = folder / "m.{epoch}.weights.h5",
                                       .save_weights_only = true,
                                       .save_freq = save_freq});
  };
}

Tensor inputs() { return random::normal({kRows, 4}, {.seed = 3}); }
Tensor labels() { return random::randint({kRows}, 0, 3, {.seed = 4}); }

History fit_arrays(Sequential& model, const std::vector<CallbackHandle>& callbacks) {
  return model.fit(inputs(), labels(),
                   {.batch_size = 4,
                    .epochs = kEpochs,
                    .verbose = 0,
                    .callbacks = callbacks,
                    .validation_split = 0.2});
}

History fit_dataset(Sequential& model, const std::vector<CallbackHandle>& callbacks) {
  const auto dataset = data::Dataset::from_tensor_slices({inputs(), labels()})
                           .shuffle(10)
                           .repeat()
                           .batch(4)
                           .prefetch(2);
  return model.fit(dataset,
                   {.epochs = kEpochs, .verbose = 0, .callbacks = callbacks, .steps_per_epoch = 5});
}

// Trains as a program that is started anew does; none when it was killed.
std::optional<Outcome> run(const TempFolder& folder, const Keeper& keeper, const Fit& fit,
                           std::optional<int64_t> killed_at) {
  clear_session();
  set_random_seed(11);
  Sequential model = make_model();
  const std::string csv = folder / "log.csv";
  const std::vector<CallbackHandle> callbacks = {
      keeper(folder), callbacks::CSVLogger({.filename = csv}),
      callbacks::EarlyStopping({.monitor = "loss", .patience = 50, .restore_best_weights = true}),
      callbacks::LearningRateScheduler(
          {.schedule = [](int64_t, double rate) { return rate * 0.9; }}),
      make_callback<KillAt>(killed_at)};
  Outcome outcome;
  try {
    const History history = fit(model, callbacks);
    for (const auto& [name, values] : history) {
      for (const double value : values) outcome.history += fmt::format("{} {:a}\n", name, value);
    }
    outcome.history += fmt::format("{}", fmt::join(history.epoch, " "));
  } catch (const Killed&) {
    return std::nullopt;
  }
  for (const Variable& variable : model.variables()) {
    outcome.bytes.push_back(bytes_of(variable.value()));
  }
  for (const Variable& variable : model.optimizer().variables()) {
    outcome.bytes.push_back(bytes_of(variable.value()));
  }
  outcome.csv = testing::read_file(csv);
  return outcome;
}

void check_resumes(const Keeper& keeper, const Fit& fit, int64_t batches) {
  std::optional<Outcome> whole;
  {
    const TempFolder folder;
    whole = run(folder, keeper, fit, {});
    CHECK(!std::filesystem::exists(folder / "backup"));
    CHECK(!std::filesystem::exists(folder / ".m.{epoch}.weights.h5.run"));
  }
  REQUIRE(whole);
  for (int64_t killed_at = 0; killed_at < batches; ++killed_at) {
    CAPTURE(killed_at);
    const TempFolder folder;
    REQUIRE(!run(folder, keeper, fit, killed_at));
    run(folder, keeper, fit, 3);  // and once more, a little later
    const std::optional<Outcome> resumed = run(folder, keeper, fit, {});
    REQUIRE(resumed);
    CHECK(resumed->bytes == whole->bytes);
    CHECK(resumed->history == whole->history);
    CHECK(resumed->csv == whole->csv);
  }
}

}  // namespace

TEST_CASE("arrays: a run that was killed after any batch ends with the same bits") {
  check_resumes(backup("epoch"), fit_arrays, 5 * kEpochs);
  check_resumes(backup(1), fit_arrays, 5 * kEpochs);
  check_resumes(backup(3), fit_arrays, 5 * kEpochs);
}

TEST_CASE("datasets: a run that was killed after any batch ends with the same bits") {
  check_resumes(backup("epoch"), fit_dataset, 5 * kEpochs);
  check_resumes(backup(1), fit_dataset, 5 * kEpochs);
  check_resumes(backup(7), fit_dataset, 5 * kEpochs);
}

// 17 rows in batches of 4: the second replica has none in an epoch's last one.
TEST_CASE("replicas: a run that was killed after any batch ends with the same bits") {
  {
    const distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
    const auto scope = strategy.scope();
    check_resumes(backup(3), fit_arrays, 5 * kEpochs);
    check_resumes(checkpoint("epoch"), fit_dataset, 5 * kEpochs);
  }
  const distribute::CentralStorageStrategy strategy({.compute_devices = {"CPU:0", "CPU:1"}});
  const auto scope = strategy.scope();
  check_resumes(backup(3), fit_arrays, 5 * kEpochs);
}

TEST_CASE("ModelCheckpoint alone makes fit resumable") {
  check_resumes(checkpoint("epoch"), fit_arrays, 5 * kEpochs);
  check_resumes(checkpoint(3), fit_dataset, 5 * kEpochs);
}

namespace {

// After batch 4 of epoch 1, on arrays of (22, 4): what another program says to it.
class OtherProgram {
 public:
  OtherProgram() {
    REQUIRE(!run(folder_, backup(1), fit_arrays, 3));
    state_ = testing::read_file(folder_ / "backup/run_state");
  }
  ~OtherProgram() { CHECK(testing::read_file(folder_ / "backup/run_state") == state_); }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;

  std::string error_of(Sequential model, const Fit& fit) const {
    clear_session();
    const std::vector<CallbackHandle> callbacks = {
        backup(1)(folder_), callbacks::CSVLogger({.filename = folder_ / "log.csv"}),
        callbacks::EarlyStopping({.monitor = "loss"}),
        callbacks::LearningRateScheduler({.schedule = [](int64_t, double rate) { return rate; }}),
        make_callback<KillAt>(std::nullopt)};
    std::string error = message_of<FailedPrecondition>([&] { fit(model, callbacks); });
    const std::string place =
        " The saved state is in the folder '" + (folder_ / "backup").string() + "'.";
    CHECK(error.ends_with(place));
    error.resize(error.size() - std::min(error.size(), place.size()));
    return error;
  }

 private:
  TempFolder folder_;
  std::string state_;
};

Sequential other_model(int64_t units, const Optimizer& optimizer) {
  Sequential model({layers::Dense({.units = units, .activation = "relu", .name = "first"}),
                    layers::Dropout({.rate = 0.3}), layers::BatchNormalization({.name = "norm"}),
                    layers::Dense({.units = 3, .activation = "softmax", .name = "last"})},
                   {.name = "other"});
  model.compile(
      {.optimizer = optimizer, .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

const std::string kMend = ". Start it as it was, or remove the saved state to begin anew.";

}  // namespace

TEST_CASE("a state of another optimizer is refused, and stays") {
  const OtherProgram other;
  CHECK(other.error_of(other_model(6, optimizers::SGD()), fit_arrays) ==
        "Sequential 'other': fit: the run to go on with was trained by Adam, but this program "
        "compiles the model with SGD" +
            kMend);
  CHECK(other.error_of(other_model(6, optimizers::Adam({.amsgrad = true})), fit_arrays) ==
        "Sequential 'other': fit: the run to go on with had another optimizer than this program "
        "makes: it had 14 variables, here are 20; variable 14, "
        "'adam/other_first_kernel_velocity_hat' of shape "
        "(4, 6) and dtype float32, wasn't there" +
            kMend);
}

TEST_CASE("a state of another model is refused, and stays") {
  const OtherProgram other;
  CHECK(other.error_of(other_model(7, optimizers::Adam()), fit_arrays) ==
        "Sequential 'other': fit: the run to go on with had another model than this program "
        "makes: variable 0 was 'sequential/dense/kernel' of shape (4, 6) and dtype float32, here "
        "it is "
        "'other/first/kernel' of shape (4, 7) and dtype float32" +
            kMend);
  Sequential shorter({layers::Dense({.units = 6})}, {.name = "shorter"});
  shorter.compile(
      {.optimizer = "adam", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  CHECK(other.error_of(shorter, fit_arrays) ==
        "Sequential 'shorter': fit: the run to go on with had another model than this program "
        "makes: it had 9 variables, here are 2; variable 2, 'dropout/seed_generator_state' "
        "of shape (2,) and dtype uint32, isn't here" +
            kMend);
}

TEST_CASE("a state of other data is refused, and stays") {
  const OtherProgram other;
  const auto on = [&](const Tensors& x, const Tensor& y, const FitOptions& options) {
    return other.error_of(other_model(6, optimizers::Adam()),
                          [&](Sequential& model, const std::vector<CallbackHandle>& callbacks) {
                            FitOptions all = options;
                            all.callbacks = callbacks;
                            all.verbose = 0;
                            return model.fit(x, y, all);
                          });
  };
  const auto text = [](const std::string& here) {
    return "Sequential 'other': Arrays: the position was saved by another pipeline.\n  saved: "
           "arrays(float32 (17, 4), "
           "int32 (17,)) | shuffle | batch(4)\n  here:  " +
           here + "\nStart from the beginning, or build the dataset as it was.";
  };
  const Tensor x = inputs().rows(0, 17);
  const Tensor y = labels().rows(0, 17);
  CHECK(on(x, y, {.batch_size = 5}) ==
        text("arrays(float32 (17, 4), int32 (17,)) | shuffle | batch(5)"));
  CHECK(on(x, y, {.batch_size = 4, .shuffle = false}) ==
        text("arrays(float32 (17, 4), int32 (17,)) | batch(4)"));
  CHECK(on(x.rows(0, 16), y.rows(0, 16), {.batch_size = 4}) ==
        text("arrays(float32 (16, 4), int32 (16,)) | shuffle | batch(4)"));
  CHECK(on(x, ops::cast(y, DType::Int64), {.batch_size = 4}) ==
        text("arrays(float32 (17, 4), int64 (17,)) | shuffle | batch(4)"));
  CHECK(on(x, y, {.batch_size = 4, .steps_per_epoch = 3}) ==
        "Sequential 'other': fit: the number of batches in an epoch of the run to go on with was "
        "5, this program's is "
        "3" +
            kMend);
}

TEST_CASE("a run on another number of replicas goes on, with a warning") {
  const TempFolder folder;
  REQUIRE(!run(folder, backup(1), fit_arrays, 3));
  const test::Log log;
  const distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  const auto scope = strategy.scope();
  CHECK(run(folder, backup(1), fit_arrays, {}));
  CHECK(testing::contains(log.text(),
                          "The saved run computed on 1 replicas, this one does on 2: its last bits "
                          "may differ, and more where each replica normalizes its own part of a "
                          "batch (BatchNormalization that isn't synchronized)."));
}

TEST_CASE("a run on other compute threads goes on, with a warning") {
  const TempFolder folder;
  {
    const ComputeThreadsScope one(1);
    REQUIRE(!run(folder, backup(1), fit_arrays, 3));
  }
  const test::Log log;
  const ComputeThreadsScope two(2);
  CHECK(run(folder, backup(1), fit_arrays, {}));
  CHECK(testing::contains(log.text(),
                          "The saved run computed on 1 threads, this one does on 2: its last bits "
                          "may differ."));
}

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

// Has no config.
struct Constant : ScheduleImpl {
  Tensor operator()(const Tensor& step) const override {
    return ops::cast(step, DType::Float32) * 0.0f + 0.01f;
  }
  std::string class_name() const override { return "Constant"; }
  Json get_config() const override { throw InvalidArgument("no config"); }
};

// A run that was killed after `killed_at` batches, and the same program with other parts.
struct Changed {
  TempFolder folder = {};
  test::Log log = {};

  Sequential compiled(const Optimizer& optimizer) const {
    clear_session();
    Sequential model({layers::Dense({.units = 3, .activation = "softmax"})});
    model.compile({.optimizer = optimizer, .loss = "sparse_categorical_crossentropy"});
    return model;
  }
  void fit(Sequential& model, std::vector<CallbackHandle> callbacks,
           std::optional<int64_t> killed_at = {}) const {
    callbacks.push_back(backup(1)(folder));
    callbacks.push_back(make_callback<KillAt>(killed_at));
    model.fit(inputs(), labels(),
              {.batch_size = 4, .epochs = 2, .verbose = 0, .callbacks = callbacks});
  }
  void kill(const std::vector<CallbackHandle>& callbacks) const {
    set_random_seed(11);
    Sequential model = compiled(optimizers::Adam({.learning_rate = 0.01}));
    CHECK_THROWS_AS(fit(model, callbacks, 7), Killed);
  }
};

}  // namespace

TEST_CASE("callbacks may be added, removed and come in another order") {
  const callbacks::EarlyStopping stopping({.monitor = "loss", .patience = 50});
  const auto adam = [] { return optimizers::Adam({.learning_rate = 0.01}); };
  const std::string added =
      "the run to go on with had no callback like EarlyStopping, which is new: it starts afresh.";
  const std::string removed =
      "the run to go on with had another callback, EarlyStopping, that isn't given now: what it "
      "knew is dropped.";
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
        "EarlyStopping: the run to go on with watched 'loss', this program's watches 'val_loss'. "
        "Start it as it was, or remove the saved state to begin anew."));
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
  CHECK(testing::contains(run.log.text(), "EarlyStopping, that isn't given now"));
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
    CHECK(testing::contains(removed.log.text(), "one::Recorder, that isn't given now"));
    CHECK(testing::contains(removed.log.text(), "other::Recorder, which is new"));
  }
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
                          "The saved run drew its random numbers from seed 11, this program "
                          "sets 12: it goes on with 11, as saved."));
  CHECK(testing::contains(text, "fit: the optimizer's learning_rate was 0.01"));
  CHECK(testing::contains(text,
                          "this program says 0.5. It goes on with what the saved run had reached"));
  CHECK(testing::contains(text,
                          "fit: the optimizer's beta_1 was 0.9 in the run to go on with, this "
                          "program says 0.75. It goes on with 0.75, as this program says."));
  CHECK(model.optimizer().learning_rate().item<float>() == 0.01f);
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
                          "fit: loss was \"sparse_categorical_crossentropy\" in the run to go on "
                          "with, this program says "));
  const Changed same;
  same.kill({});
  Sequential again = same.compiled(adam());
  same.fit(again, {});
  CHECK_FALSE(testing::contains(same.log.text(), "fit: loss was "));
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

TEST_CASE("a state that can't be used is never a fresh start") {
  const TempFolder folder;
  const std::string path = folder / "backup";
  REQUIRE(!run(folder, backup(1), fit_arrays, 3));
  const std::string whole = testing::read_file(path + "/run_state");
  const auto error_of = [&](const std::string& bytes) {
    testing::write_file(path + "/run_state", bytes);
    std::filesystem::remove(path + "/run_state.previous");
    return message_of<DataLoss>([&] { run(folder, backup(1), fit_arrays, {}); });
  };
  const auto text = [&](const std::string& what) {
    return "Sequential 'sequential': Run state " + path + "/run_state: " + what +
           " There is no whole state before it either. Remove the folder '" + path +
           "' to begin anew.";
  };
  CHECK(error_of(whole.substr(0, 1000)) ==
        text(fmt::format("expected {} bytes, got 1000; it is cut off.", whole.size())));
  std::string other = whole;
  other[8] = 1;
  CHECK(error_of(other) ==
        text("expected version 2 of the format, got 1; another version of Cornu wrote it."));
  std::swap(other[12], other[15]);
  std::swap(other[13], other[14]);
  CHECK(error_of(other) == text("it was written on a machine of another byte order."));
}

TEST_CASE("a folder that another run uses is an error before training") {
  const TempFolder folder;
  std::string error;
  const callbacks::LambdaCallback nested({.on_train_begin = [&](const Logs&) {
    error = message_of<FailedPrecondition>([&] { run(folder, backup(1), fit_arrays, {}); });
  }});
  Sequential model = make_model();
  fit_arrays(model, {backup(1)(folder), nested});
  CHECK(error ==
        "Sequential 'sequential': Run state: another run that is alive keeps its state in '" +
            (folder / "backup").string() + "'. Wait for its end, or choose another folder.");
}
