// SPDX-License-Identifier: Apache-2.0
// A run that was stopped anywhere resumes as if it had never stopped.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <cornu/cornu.h>

#include "framework/core/threads.h"
#include "framework/graph/cpu_instructions.h"
#include "framework/saving/run_state.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/log.h"
#include "tests/support/sanitized.h"
#include "tests/train/changed_run.h"

using namespace cornu;
using test::message_of;
using testing::bytes_of;
using testing::inputs;
using testing::KillAt;
using testing::Killed;
using testing::labels;
using testing::TempFolder;

namespace {

constexpr int64_t kEpochs = 4;

// The outcome of a run: everything that must be equal.
struct Outcome {
  std::vector<std::string> bytes;
  std::string history;
  std::string csv;
  bool operator==(const Outcome&) const = default;
};

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
// Creates the callback that saves the state.
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

// Passes over the dataset are numbered as they begin, with validation passes in between those of
// training.
History fit_shared(Sequential& model, const std::vector<CallbackHandle>& callbacks) {
  const auto dataset =
      data::Dataset::from_tensor_slices({inputs(), labels()}).shuffle(22, {.seed = 4}).batch(4);
  return model.fit(dataset, {.epochs = kEpochs,
                             .verbose = 0,
                             .callbacks = callbacks,
                             .validation_data = dataset,
                             .validation_steps = 2});
}

// Trains like a program that is restarted; returns nullopt when it was killed.
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
  for (int64_t killed_at = 0; killed_at < batches; killed_at += testing::cases(1, 4)) {
    CAPTURE(killed_at);
    const TempFolder folder;
    REQUIRE(!run(folder, keeper, fit, killed_at));
    run(folder, keeper, fit, 3);  // killed again, a little later
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

TEST_CASE("one dataset to train and to validate: a killed run ends with the same bits") {
  check_resumes(backup("epoch"), fit_shared, 6 * kEpochs);
  check_resumes(backup(1), fit_shared, 6 * kEpochs);
}

// 17 rows in batches of 4: the second replica has no rows in the last batch of an epoch.
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

namespace {

// Its step uses an optimizer and a counter that aren't part of the model.
class TwoOptimizers : public Model {
 public:
  TwoOptimizers() {
    track("first", first_);
    track("last", last_);
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return last_(first_(x)); }
  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    const Tensor loss = ops::mean(ops::square(Tensor((*this)(data.x)) - data.y[0]));
    const std::vector<Tensor> gradients = tape.gradient(loss, trainable_variables());
    optimizer().apply({gradients[0], gradients[1]}, first_.trainable_variables());
    own_.apply({gradients[2], gradients[3]}, last_.trainable_variables());
    steps_.assign_add(1);
    NamedValues<Tensor> logs;
    logs["loss"] = loss;
    logs["steps"] = steps_;
    return logs;
  }

 private:
  layers::Dense first_{{.units = 3}};
  layers::Dense last_{{.units = 1}};
  optimizers::Adam own_{{.learning_rate = 0.05}};
  Variable steps_{Tensor::scalar(0), {.name = "steps", .trainable = false}};
};

}  // namespace

TEST_CASE("what only a step writes: a killed run ends with the same bits") {
  const auto train = [](const TempFolder& folder, std::optional<int64_t> kill) {
    clear_session();
    set_random_seed(11);
    TwoOptimizers model;
    model.compile({.optimizer = "rmsprop"});
    const Tensor x = inputs();
    Outcome outcome;
    try {
      const History history =
          model.fit(x, ops::sum(x, 1, true),
                    {.batch_size = 4,
                     .epochs = 3,
                     .verbose = 0,
                     .callbacks = {backup(2)(folder), make_callback<KillAt>(kill)}});
      outcome.history = fmt::format("{}", fmt::join(history.at("steps"), " "));
    } catch (const Killed&) {
    }
    for (const Tensor& weight : model.get_weights()) outcome.bytes.push_back(bytes_of(weight));
    return outcome;
  };
  const Outcome whole = train(TempFolder(), {});
  CHECK(whole.history == "6 12 18");
  for (const int64_t kill : {3, 8, 12}) {
    CAPTURE(kill);
    const TempFolder folder;
    train(folder, kill);
    CHECK(train(folder, {}) == whole);
  }
}

// Each replica has states for its own rows; they are neither mixed up nor lost.
TEST_CASE("replicas: a killed run goes on with the states of a stateful layer") {
  const Tensor x = random::normal({24, 5, 4}, {.seed = 1});
  const Tensor y = random::normal({24, 1}, {.seed = 2});
  const auto train = [&](const TempFolder& folder, int64_t replicas, std::optional<int64_t> kill) {
    clear_session();
    set_random_seed(11);
    Sequential model({Input({.batch_shape = {4 / replicas, 5, 4}}),
                      layers::LSTM({.units = 3, .stateful = true}), layers::Dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    std::vector<double> losses;
    try {
      const History history =
          model.fit(data::Dataset::from_tensor_slices({x, y}).batch(4),
                    {.epochs = 3,
                     .verbose = 0,
                     .callbacks = {backup(2)(folder), make_callback<KillAt>(kill)}});
      losses = history.at("loss");
    } catch (const Killed&) {
    }
    return losses;
  };
  const std::vector<double> one = train(TempFolder(), 1, {});
  const distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  const auto scope = strategy.scope();
  const std::vector<double> whole = train(TempFolder(), 2, {});
  REQUIRE(whole.size() == one.size());
  for (size_t i = 0; i < one.size(); ++i) CHECK(whole[i] == doctest::Approx(one[i]));
  const TempFolder folder;
  CHECK(train(folder, 2, 8).empty());
  CHECK(train(folder, 2, {}) == whole);
}

TEST_CASE("ModelCheckpoint alone makes fit resumable") {
  check_resumes(checkpoint("epoch"), fit_arrays, 5 * kEpochs);
  check_resumes(checkpoint(3), fit_dataset, 5 * kEpochs);
}

namespace {

// The state after batch 4 of epoch 1, on arrays of shape (22, 4), to be restored by another
// program.
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
        " The saved state is in the directory '" + (folder_ / "backup").string() + "'.";
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

const std::string kMend =
    ". Restart the original program, or delete the saved state to start over.";

}  // namespace

TEST_CASE("save_freq counts batches, also where several are executed at once") {
  const auto run_state = [](const CallbackHandle& keeper, const std::string& path) {
    set_random_seed(1);
    Sequential model({layers::Dense({.units = 3, .activation = "softmax"})});
    model.compile(
        {.optimizer = "sgd", .loss = "sparse_categorical_crossentropy", .steps_per_execution = 2});
    CHECK_THROWS_AS(model.fit(inputs(), labels(),
                              {.batch_size = 4,
                               .epochs = 1,
                               .verbose = 0,
                               .callbacks = {keeper, make_callback<KillAt>(2)}}),
                    Killed);
    return std::filesystem::exists(path);
  };
  const TempFolder folder;
  CHECK(run_state(backup(4)(folder), folder / "backup/run_state"));
  CHECK(run_state(
      callbacks::ModelCheckpoint(
          {.filepath = folder / "m.weights.h5", .save_weights_only = true, .save_freq = 4}),
      folder / ".m.weights.h5.run/run_state"));
}

TEST_CASE("a state of another optimizer is refused, and stays") {
  const OtherProgram other;
  CHECK(other.error_of(other_model(6, optimizers::SGD()), fit_arrays) ==
        "Sequential 'other': fit: the saved run was trained with Adam, but this program compiles "
        "the model with SGD" +
            kMend);
  CHECK(other.error_of(other_model(6, optimizers::Adam({.amsgrad = true})), fit_arrays) ==
        "Sequential 'other': fit: the saved run had a different optimizer: it had 14 variables, "
        "here are 20; variable 14, 'adam/other_first_kernel_velocity_hat' of shape (4, 6) and "
        "dtype float32, wasn't there" +
            kMend);
}

TEST_CASE("a state of another model is refused, and stays") {
  const OtherProgram other;
  CHECK(other.error_of(other_model(7, optimizers::Adam()), fit_arrays) ==
        "Sequential 'other': fit: the saved run had a different model: variable 0 was "
        "'sequential/dense/kernel' of shape (4, 6) and dtype float32, here it is "
        "'other/first/kernel' of shape (4, 7) and dtype float32" +
            kMend);
  Sequential shorter({layers::Dense({.units = 6})}, {.name = "shorter"});
  shorter.compile(
      {.optimizer = "adam", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  CHECK(other.error_of(shorter, fit_arrays) ==
        "Sequential 'shorter': fit: the saved run had a different model: it had 9 variables, here "
        "are 2; variable 2, 'dropout/seed_generator_state' of shape (2,) and dtype uint32, isn't "
        "here" +
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
        "Sequential 'other': fit: the saved run had 5 batches per epoch, this program has 3" +
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
                          "The saved run computed on 1 threads, this one does on 2 threads: its "
                          "last bits may differ."));
}

TEST_CASE("a run of another version, or of another CPU, goes on, with a warning") {
  const auto warnings_with = [](const std::function<void(Json&)>& change) {
    const TempFolder folder;
    const std::string path = folder / "backup/run_state";
    REQUIRE(!run(folder, backup(1), fit_arrays, 3));
    RunState state = read_run_state(path);
    change(state.info);
    write_run_state(path, state);
    const test::Log log;
    CHECK(run(folder, backup(1), fit_arrays, {}));
    return log.text();
  };
  CHECK(testing::contains(
      warnings_with([](Json& info) { info.set("version", "0.0.9"); }),
      "The saved run computed with Cornu 0.0.9, this one does with Cornu " CORNU_VERSION
      ": its last bits may differ."));
  CHECK(testing::contains(
      warnings_with([](Json& info) { info.set("instruction_sets", "SSE4 (oneDNN: SSE4.1)"); }),
      "The saved run computed on a CPU with SSE4 (oneDNN: SSE4.1), this one does on a CPU with " +
          cpu_instruction_sets() + ": its last bits may differ."));
  // Unchanged, and as written by a version that stored neither.
  CHECK(!testing::contains(warnings_with([](Json&) {}), "last bits"));
  CHECK(!testing::contains(warnings_with([](Json& info) {
                             Json::Object members = info.as_object();
                             CHECK(std::erase_if(members, [](const Json::Member& member) {
                                     return member.first == "version" ||
                                            member.first == "instruction_sets";
                                   }) == 2);
                             info = Json::of_members(std::move(members));
                           }),
                           "last bits"));
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
           " There is no complete state before it, either. Delete the directory '" + path +
           "' to start over.";
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
  CHECK(
      error ==
      "Sequential 'sequential': Run state: another run that is alive, or another callback of this "
      "one, keeps its state in '" +
          (folder / "backup").string() + "'. Wait for its end, or choose another directory.");
}

namespace {

// Draws noise at inference only.
class NoisyInference : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs& args) override {
    if (args.training) return x;
    return x + 0.3f * random::normal(x.shape(), {.seed = generator_});
  }

 private:
  random::SeedGenerator generator_{17};
};

// The history of a run whose test step alone uses the state of a random generator.
std::string validated(const TempFolder& folder, std::optional<int64_t> killed_at) {
  clear_session();
  set_random_seed(11);
  Sequential model({layers::Dense({.units = 3, .activation = "softmax"}),
                    LayerHandle(make_layer<NoisyInference>())});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  std::string text;
  try {
    const History history =
        model.fit(inputs(), ops::one_hot(labels(), 3),
                  {.batch_size = 4,
                   .epochs = kEpochs,
                   .verbose = 0,
                   .callbacks = {backup("epoch")(folder), make_callback<KillAt>(killed_at)},
                   .validation_split = 0.2});
    for (const double value : history.at("val_loss")) text += fmt::format("{:a}\n", value);
  } catch (const Killed&) {
  }
  return text;
}

}  // namespace

TEST_CASE("what the test step alone writes goes on in a run that was killed") {
  const std::string whole = validated(TempFolder(), {});
  REQUIRE(!whole.empty());
  for (int64_t killed_at = 0; killed_at < 5 * kEpochs; killed_at += 3) {
    CAPTURE(killed_at);
    const TempFolder folder;
    CHECK(validated(folder, killed_at).empty());
    CHECK(validated(folder, {}) == whole);
  }
}
