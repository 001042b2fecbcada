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

#include "tests/support/errors.h"
#include "tests/support/files.h"

using namespace cornu;
using test::message_of;
using testing::TempFolder;

namespace {

constexpr int64_t kRows = 22;
constexpr int64_t kEpochs = 4;

struct Killed : std::exception {};

// Throws behind a batch, counted from the start of training.
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

TEST_CASE("arrays: a run that was killed behind any batch ends with the same bits") {
  check_resumes(backup("epoch"), fit_arrays, 5 * kEpochs);
  check_resumes(backup(1), fit_arrays, 5 * kEpochs);
  check_resumes(backup(3), fit_arrays, 5 * kEpochs);
}

TEST_CASE("datasets: a run that was killed behind any batch ends with the same bits") {
  check_resumes(backup("epoch"), fit_dataset, 5 * kEpochs);
  check_resumes(backup(1), fit_dataset, 5 * kEpochs);
  check_resumes(backup(7), fit_dataset, 5 * kEpochs);
}

TEST_CASE("ModelCheckpoint alone makes fit resumable") {
  check_resumes(checkpoint("epoch"), fit_arrays, 5 * kEpochs);
  check_resumes(checkpoint(3), fit_dataset, 5 * kEpochs);
}

TEST_CASE("a state of another program is refused, and stays") {
  const TempFolder folder;
  const std::string path = folder / "backup";
  REQUIRE(!run(folder, backup(1), fit_arrays, 7));
  const std::string state = testing::read_file(path + "/run_state");
  const auto error_of = [&](Sequential model, const std::string& optimizer) {
    model.compile({.optimizer = optimizer, .loss = "mse"});
    return message_of<FailedPrecondition>([&] {
      model.fit(inputs(), ops::zeros({kRows, 3}),
                {.batch_size = 4,
                 .verbose = 0,
                 .callbacks = {callbacks::BackupAndRestore({.backup_dir = path})}});
    });
  };
  const Sequential other({layers::Dense({.units = 3})}, {.name = "other"});
  CHECK(error_of(other, "sgd") ==
        "Sequential 'other': fit: the run to go on with was trained by Adam, but this program "
        "compiles the model with "
        "SGD. Start it as it was, or remove the saved state to begin anew.");
  CHECK(!error_of(other, "adam").empty());
  CHECK(testing::read_file(path + "/run_state") == state);
}
