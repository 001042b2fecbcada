// SPDX-License-Identifier: Apache-2.0
// In a resumed run, callbacks do the same as they would have done without a stop.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include <cornu/cornu.h>

#include "tests/support/files.h"
#include "tests/support/sanitized.h"
#include "tests/train/changed_run.h"

using namespace cornu;
using testing::bytes_of;
using testing::inputs;
using testing::KillAt;
using testing::Killed;
using testing::labels;
using testing::new_model;
using testing::TempFolder;

namespace {

using Texts = std::vector<std::string>;

// The progress bar without times and metrics: "Epoch 2/4", "3/5", "1/Unknown", ….
Texts counts_in(const std::string& shown) {
  static const std::regex kCount("Epoch [0-9]+/[0-9]+|[0-9]+/([0-9]+|Unknown)");
  Texts counts;
  for (std::sregex_iterator match(shown.begin(), shown.end(), kCount), end; match != end; ++match) {
    counts.push_back(match->str());
  }
  return counts;
}

// The number of batches trained by a program that keeps its state, in two epochs of six batches.
int64_t batches_of(const TempFolder& folder, const callbacks::SaveFrequency& save_freq,
                   std::optional<int64_t> stop_at = {}) {
  int64_t batches = 0;
  Sequential model = new_model("sgd");
  const callbacks::LambdaCallback count({.on_train_batch_end = [&](int64_t, const Logs&) {
    if (++batches == stop_at) model.stop_training = true;
  }});
  model.fit(inputs(), labels(),
            {.batch_size = 4,
             .epochs = 2,
             .verbose = 0,
             .callbacks = {callbacks::BackupAndRestore({.backup_dir = folder / "run",
                                                        .save_freq = save_freq,
                                                        .delete_checkpoint = false}),
                           count}});
  return batches;
}

// Trains with a progress bar that is drawn at each batch; returns what it counted. `is_known`:
// whether the dataset's cardinality is known.
Texts counts_of(const TempFolder& folder, bool is_known, std::optional<int64_t> killed_at) {
  set_random_seed(11);
  std::string shown;
  double now = 0;
  const callbacks::ProgbarLogger bar({.display = ProgbarDisplay::Lines,
                                      .write = [&](std::string_view text) { shown += text; },
                                      .clock = [&] { return ++now; }});
  Sequential model = new_model("sgd");
  const auto all = data::Dataset::from_tensor_slices({inputs(), labels()});
  const auto some = all.filter([](const Tensor&, const Tensor& y) { return y >= 0; });
  const auto dataset = (is_known ? all : some).batch(4);
  CHECK(dataset.cardinality().has_value() == is_known);
  try {
    model.fit(
        dataset,
        {.epochs = 3,
         .verbose = 1,
         .callbacks = {callbacks::BackupAndRestore({.backup_dir = folder / "run", .save_freq = 1}),
                       bar, make_callback<KillAt>(killed_at)}});
  } catch (const Killed&) {
  }
  return counts_in(shown);
}

}  // namespace

TEST_CASE("the bar of a run that was killed counts on") {
  constexpr int64_t kBatches = 6;
  for (const bool is_known : {true, false}) {
    CAPTURE(is_known);
    const Texts whole = counts_of(TempFolder(), is_known, {});
    // For each epoch: its title, its batches, and the last count once more at its end.
    constexpr int64_t kShown = kBatches + 2;
    REQUIRE(whole.size() == 3 * kShown);
    CHECK(whole[3] == (is_known ? "3/6" : "3/Unknown"));
    CHECK(whole[kShown] == "Epoch 2/3");
    CHECK(whole[kShown + 3] == "3/6");
    for (int64_t killed_at = 0; killed_at < 3 * kBatches; killed_at += testing::cases(1, 5)) {
      CAPTURE(killed_at);
      const TempFolder folder;
      const auto title_of = [&](int64_t batch) {
        return whole.begin() + batch / kBatches * kShown;
      };
      const auto place_of = [&](int64_t batch) { return title_of(batch) + 1 + batch % kBatches; };
      CHECK(counts_of(folder, is_known, killed_at) ==
            Texts(whole.begin(), place_of(killed_at) + 1));
      // The title of the last epoch with a saved state, and everything after it.
      Texts rest = whole;
      if (const int64_t last = killed_at - 1; last >= 0) {
        rest = {*title_of(last)};
        rest.insert(rest.end(), place_of(last) + 1, whole.end());
      }
      CHECK(counts_of(folder, is_known, {}) == rest);
    }
  }
}

namespace {

// Records the number of steps per epoch that a callback sees at the beginning of each batch.
class NotesSteps : public Callback {
 public:
  explicit NotesSteps(Texts* noted) : noted_(noted) {}
  void on_epoch_begin(int64_t epoch, const Logs&) override { epoch_ = epoch; }
  void on_train_batch_begin(int64_t batch, const Logs&) override {
    noted_->push_back(fmt::format("{}.{}: {}", epoch_, batch, params().steps.value_or(-1)));
  }

 private:
  Texts* noted_;
  int64_t epoch_ = 0;
};

// For epochs with as many batches as a shuffle leaves, or fewer than requested.
Texts steps_noted(const TempFolder& folder, bool is_known, std::optional<int64_t> killed_at) {
  set_random_seed(11);
  Texts noted;
  Sequential model = new_model("sgd");
  const auto numbers = data::Dataset::from_tensor_slices({inputs(), labels()});
  const auto some =
      numbers.shuffle(24, {.seed = 3}).take(12).filter([](const Tensor&, const Tensor& y) {
        return y >= 1;
      });
  const std::optional<int64_t> wanted = is_known ? std::optional<int64_t>(10) : std::nullopt;
  const auto dataset = is_known ? numbers.batch(4) : some.batch(2);
  try {
    model.fit(
        dataset,
        {.epochs = 4,
         .verbose = 0,
         .callbacks = {callbacks::BackupAndRestore({.backup_dir = folder / "run", .save_freq = 1}),
                       make_callback<NotesSteps>(&noted), make_callback<KillAt>(killed_at)},
         .steps_per_epoch = wanted});
  } catch (const Killed&) {
  }
  return noted;
}

}  // namespace

TEST_CASE("callbacks of a run that was killed know what those of a whole one know of its steps") {
  for (const bool is_known : {true, false}) {
    CAPTURE(is_known);
    const Texts whole = steps_noted(TempFolder(), is_known, {});
    REQUIRE(whole.size() > 6);
    for (size_t killed_at = 1; killed_at < whole.size(); ++killed_at) {
      CAPTURE(killed_at);
      const TempFolder folder;
      steps_noted(folder, is_known, static_cast<int64_t>(killed_at));
      const Texts rest = steps_noted(folder, is_known, {});
      // The batch at whose end it was killed is repeated.
      CHECK(rest == Texts(whole.end() - std::ssize(rest), whole.end()));
      CHECK(rest.size() >= whole.size() - killed_at - 1);
    }
  }
}

namespace {

// The outcome of a training with callbacks that monitor the validation loss.
struct Watched {
  Texts weights;
  std::vector<double> rates;  // by epoch
  double last_rate = 0;
  std::optional<double> best;
  std::map<std::string, std::string> files;  // the best models, by file name
};

std::optional<Watched> watch(const TempFolder& folder, const callbacks::SaveFrequency& save_freq,
                             std::optional<int64_t> killed_at) {
  clear_session();
  set_random_seed(11);
  Sequential model({layers::Dense({.units = 6, .activation = "relu"}),
                    layers::Dropout({.rate = 0.3}),
                    layers::Dense({.units = 3, .activation = "softmax"})});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.05}),
                 .loss = "sparse_categorical_crossentropy"});
  const bool by_epoch = !save_freq.batches();
  const callbacks::ModelCheckpoint best(
      {.filepath = folder / (by_epoch ? "{epoch}.weights.h5" : "{epoch}.{batch}.weights.h5"),
       .monitor = "loss",
       .save_best_only = true,
       .save_weights_only = true,
       .save_freq = save_freq});
  const callbacks::ReduceLROnPlateau reduces(
      {.factor = 0.5, .patience = 2, .min_delta = 0.02, .cooldown = 1});
  Watched outcome;
  try {
    const History history =
        model.fit(inputs(), labels(),
                  {.batch_size = 4,
                   .epochs = 8,
                   .verbose = 0,
                   .callbacks = {best, reduces, make_callback<KillAt>(killed_at)},
                   .validation_split = 0.2});
    outcome.rates = history.at("learning_rate");
  } catch (const Killed&) {
    return std::nullopt;
  }
  for (const Tensor& weight : model.get_weights()) outcome.weights.push_back(bytes_of(weight));
  for (const Variable& variable : model.optimizer().variables()) {
    outcome.weights.push_back(bytes_of(variable.value()));
  }
  outcome.last_rate = model.optimizer().learning_rate().item<double>();
  outcome.best = best.best();
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    outcome.files[name] = testing::read_file(entry.path());
  }
  return outcome;
}

}  // namespace

TEST_CASE("a killed run reduces its rate and keeps the best model as an undisturbed one") {
  for (const callbacks::SaveFrequency& save_freq :
       {callbacks::SaveFrequency("epoch"), callbacks::SaveFrequency(3)}) {
    const bool by_epoch = !save_freq.batches();
    CAPTURE(by_epoch);
    const std::optional<Watched> whole = watch(TempFolder(), save_freq, {});
    REQUIRE(whole);
    // Both callbacks have acted, more than once, but not always.
    REQUIRE(whole->rates.size() == 8);
    CHECK(whole->last_rate <= 0.05 / 4);
    CHECK(whole->rates[1] == whole->rates[0]);
    CHECK(whole->files.size() >= 2);
    CHECK(whole->files.size() < (by_epoch ? 8 : 13));
    REQUIRE(whole->best);
    for (int64_t killed_at = 0; killed_at < 8 * 5; killed_at += testing::cases(1, 9)) {
      CAPTURE(killed_at);
      const TempFolder folder;
      REQUIRE(!watch(folder, save_freq, killed_at));
      watch(folder, save_freq, 6);  // killed again
      const std::optional<Watched> resumed = watch(folder, save_freq, {});
      REQUIRE(resumed);
      CHECK(resumed->weights == whole->weights);
      CHECK(resumed->rates == whole->rates);
      CHECK(resumed->last_rate == whole->last_rate);
      CHECK(resumed->best == whole->best);
      CHECK(resumed->files == whole->files);
    }
  }
}

TEST_CASE("a run that has ended isn't trained again where its state stays") {
  for (const callbacks::SaveFrequency& save_freq :
       {callbacks::SaveFrequency("epoch"), callbacks::SaveFrequency(1), callbacks::SaveFrequency(5),
        callbacks::SaveFrequency(100)}) {
    const TempFolder folder;
    CHECK(batches_of(folder, save_freq) == 12);
    CHECK(batches_of(folder, save_freq) == 0);
    const TempFolder stopped;
    CHECK(batches_of(stopped, save_freq, 8) == 8);
    CHECK(batches_of(stopped, save_freq) == 0);
  }
}
