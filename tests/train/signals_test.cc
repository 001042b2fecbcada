// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SIGINT during fit, in separate processes.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <sys/resource.h>

#include <barrier>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "framework/core/stop_signals.h"
#include "tests/support/files.h"
#include "tests/support/log.h"
#include "tests/support/processes.h"

using namespace cornu;
using test::forked;
using testing::TempFolder;

namespace {

constexpr int64_t kBatches = 5;  // per epoch
constexpr int64_t kEpochs = 3;
constexpr int64_t kNever = -1;

// Calls a function after one batch, counted from the start of training.
class Behind : public Callback {
 public:
  Behind(int64_t batch, std::function<void()> call) : batch_(batch), call_(std::move(call)) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (seen_++ == batch_) call_();
  }
  int64_t seen() const { return seen_; }

 private:
  int64_t batch_;
  std::function<void()> call_;
  int64_t seen_ = 0;
};

// Raises a signal during an evaluation, after one batch counted from the start of training.
class InEvaluation : public Callback {
 public:
  InEvaluation(int64_t batch, int signal) : batch_(batch), signal_(signal) {}
  void on_test_batch_end(int64_t, const Logs&) override {
    CHECK(!raised_);  // the rest of the evaluation is skipped
    raised_ = seen_++ == batch_;
    if (raised_) std::raise(signal_);
  }

 private:
  int64_t batch_;
  int signal_;
  int64_t seen_ = 0;
  bool raised_ = false;
};

// Raises a signal at the end of an epoch or, if nullopt, of training.
class AtEnd : public Callback {
 public:
  AtEnd(std::optional<int64_t> epoch, int signal) : epoch_(epoch), signal_(signal) {}
  void on_epoch_end(int64_t epoch, const Logs&) override {
    if (epoch_ == epoch) std::raise(signal_);
  }
  void on_train_end(const Logs&) override {
    if (!epoch_) std::raise(signal_);
  }

 private:
  std::optional<int64_t> epoch_;
  int signal_;
};

// Restores the initial handlers, since doctest installs its own.
void take_default_handlers() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

using Handler = void (*)(int);
Handler handler_of(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

CallbackHandle backup(const TempFolder& folder, const std::string& name = "backup") {
  return callbacks::BackupAndRestore({.backup_dir = folder / name});
}
CallbackHandle kept_in_backup(const TempFolder& folder) { return backup(folder); }
CallbackHandle checkpoint(const TempFolder& folder) {
  return callbacks::ModelCheckpoint({.filepath = folder / "backup.keras"});
}

// Trains, and writes the history and the bytes of the weights to `file`.
bool train(const std::vector<CallbackHandle>& callbacks, const std::string& file,
           bool validates = false) {
  clear_session();
  set_random_seed(7);
  Sequential model({layers::Dense({.units = 6, .activation = "relu"}),
                    layers::Dropout({.rate = 0.3}), layers::Dense({.units = 1})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor x = random::normal({kBatches * 4, 3}, {.seed = 1});
  const Tensor y = ops::sum(x, 1);
  const History history =
      model.fit(x, y,
                {.batch_size = 4,
                 .epochs = kEpochs,
                 .verbose = 0,
                 .callbacks = callbacks,
                 .validation_data = validates ? ValidationData(x, y) : ValidationData(),
                 .validation_batch_size = 10});
  std::string bytes;
  for (const auto& [name, values] : history) {
    for (const double value : values) bytes += fmt::format("{} {:a}\n", name, value);
  }
  for (const Tensor& weight : model.get_weights()) {
    bytes.append(reinterpret_cast<const char*>(weight.raw()), weight.bytes());
  }
  testing::write_file(file, bytes);
  return true;
}

std::string uninterrupted() {
  const TempFolder folder;
  REQUIRE(forked([&] { return train({}, folder / "weights"); }) == 0);
  return testing::read_file(folder / "weights");
}

using Keeper = std::function<CallbackHandle(const TempFolder&)>;

// Checks a run that `signal` ends after a batch with exit code `code`, and the run that resumes it.
void check_goes_on(const Keeper& keeper, int signal, int64_t batch, int code) {
  CAPTURE(batch);
  static const std::string expected = uninterrupted();
  const TempFolder folder;
  CHECK(forked([&] {
          take_default_handlers();
          const auto stop = make_callback<Behind>(batch, [&] { std::raise(signal); });
          return train({keeper(folder), stop}, folder / "weights");
        }) == code);
  CHECK(!std::filesystem::exists(folder / "weights"));
  CHECK(forked([&] {
          const auto rest = make_callback<Behind>(kNever, [] {});
          return train({keeper(folder), rest}, folder / "weights") &&
                 rest->seen() == kBatches * kEpochs - batch - 1;
        }) == 0);
  CHECK(testing::read_file(folder / "weights") == expected);
}

}  // namespace

TEST_CASE("SIGTERM: the state is written after the step, and the process ends with 143") {
  for (const int64_t batch : {0, 3, 4, 7}) check_goes_on(kept_in_backup, SIGTERM, batch, 143);
  check_goes_on(checkpoint, SIGTERM, 6, 143);
}

TEST_CASE("SIGINT: the state is written after the step, and fit throws") {
  for (const int64_t batch : {1, 4, 8})
    check_goes_on(kept_in_backup, SIGINT, batch, test::kTypedError);
  check_goes_on(checkpoint, SIGINT, 6, test::kTypedError);
}

TEST_CASE("an evaluation is interrupted, and made again") {
  const auto run = [](const TempFolder& folder, int64_t batch, int signal) {
    const auto stop = make_callback<InEvaluation>(batch, signal);
    return [&folder, stop] { return train({backup(folder), stop}, folder / "weights", true); };
  };
  const TempFolder whole;
  REQUIRE(forked(run(whole, kNever, 0)) == 0);
  for (const int signal : {SIGTERM, SIGINT}) {
    const TempFolder folder;
    CHECK(forked([&] {
            take_default_handlers();
            return run(folder, 3, signal)();
          }) == (signal == SIGTERM ? 143 : test::kTypedError));
    CHECK(forked(run(folder, kNever, 0)) == 0);
    CHECK(testing::read_file(folder / "weights") == testing::read_file(whole / "weights"));
  }
}

namespace {

CallbackHandle kept_seldom(const TempFolder& folder) {
  return callbacks::BackupAndRestore({.backup_dir = folder / "backup", .save_freq = 1000});
}

// Stops after the second epoch, with the weights of the first.
CallbackHandle stopping() {
  return callbacks::EarlyStopping(
      {.monitor = "loss", .min_delta = 1000, .patience = 1, .restore_best_weights = true});
}

std::string stopped_early() {
  const TempFolder folder;
  REQUIRE(forked([&] { return train({stopping()}, folder / "weights"); }) == 0);
  return testing::read_file(folder / "weights");
}

}  // namespace

TEST_CASE("a signal while callbacks are told of the end: the state is there") {
  const std::string expected = stopped_early();
  for (const Keeper keeper : {kept_in_backup, checkpoint, kept_seldom}) {
    for (const int signal : {SIGTERM, SIGINT}) {
      for (const std::optional<int64_t> epoch : {std::optional<int64_t>(1), {}}) {
        CAPTURE(signal);
        CAPTURE(epoch.has_value());
        const TempFolder folder;
        CHECK(forked([&] {
                take_default_handlers();
                const auto stop = make_callback<AtEnd>(epoch, signal);
                return train({keeper(folder), stopping(), stop}, folder / "weights");
              }) == (signal == SIGTERM ? 143 : test::kTypedError));
        CHECK(!std::filesystem::exists(folder / "weights"));
        CHECK(forked([&] {
                const auto rest = make_callback<Behind>(kNever, [] {});
                return train({keeper(folder), stopping(), rest}, folder / "weights") &&
                       rest->seen() == 0;
              }) == 0);
        CHECK(testing::read_file(folder / "weights") == expected);
        CHECK(!std::filesystem::exists(folder / "backup"));
        CHECK(!std::filesystem::exists(folder / ".backup.keras.run"));
      }
    }
  }
}

namespace {

// Stops training after a batch.
struct StopsAfter : Callback {
  explicit StopsAfter(int64_t its_batch) : batch(its_batch) {}
  void on_train_batch_end(int64_t number, const Logs&) override {
    if (number == batch) trained().stop_training();
  }
  int64_t batch;
};

}  // namespace

TEST_CASE(
    "a run that was stopped within an epoch stays stopped when its evaluation is made again") {
  const auto run = [](const TempFolder& folder, int64_t batch) {
    return [&folder, batch] {
      take_default_handlers();
      return train({backup(folder), make_callback<StopsAfter>(2),
                    make_callback<InEvaluation>(batch, SIGTERM)},
                   folder / "weights", true);
    };
  };
  const TempFolder whole;
  REQUIRE(forked(run(whole, kNever)) == 0);
  const TempFolder folder;
  CHECK(forked(run(folder, 0)) == 143);
  CHECK(forked(run(folder, kNever)) == 0);
  CHECK(testing::read_file(folder / "weights") == testing::read_file(whole / "weights"));
}

TEST_CASE("what SIGINT makes fit throw says where it was; handlers are back then") {
  CHECK(forked([] {
          take_default_handlers();
          const TempFolder folder;
          const auto stop = make_callback<Behind>(7, [] { std::raise(SIGINT); });
          try {
            train({backup(folder), stop}, folder / "weights");
          } catch (const Interrupted& interrupted) {
            return interrupted.signal() == SIGINT && interrupted.code() == StatusCode::Cancelled &&
                   interrupted.what() ==
                       std::string(
                           "Sequential 'sequential': fit: SIGINT ends it after batch 3 of epoch 2. "
                           "Its state was saved: restart the same program to resume from there.") &&
                   handler_of(SIGINT) == SIG_DFL && handler_of(SIGTERM) == SIG_DFL;
          }
          return false;
        }) == 0);
}

namespace {

// Stops a run, whose state was never written before, where it can't be written. Whether what ends
// it says so, and why.
bool says_what_is_lost(const std::function<void(const std::string& folder)>& spoil,
                       const std::string& why) {
  take_default_handlers();
  const test::Log log;
  const TempFolder folder;
  const auto stop = make_callback<Behind>(7, [&] {
    spoil(folder / "backup");
    std::raise(SIGINT);
  });
  try {
    train({kept_seldom(folder), stop}, folder / "weights");
  } catch (const Interrupted& interrupted) {
    const std::string text = interrupted.what();
    return testing::contains(text,
                             "fit: SIGINT ends it after batch 3 of epoch 2. Its state can't be "
                             "written: ") &&
           testing::contains(text, why) &&
           text.ends_with(
               "Restarted, the same program resumes from the last state that was written, or "
               "starts over if there is none.") &&
           testing::contains(log.text(), "The state of the run can't be written: ");
  }
  return false;
}

}  // namespace

TEST_CASE("where the state can't be written, what ends the run says so") {
  CHECK(forked([] {
          return says_what_is_lost(
              [](const std::string& folder) { std::filesystem::remove_all(folder); },
              "there is no directory");
        }) == 0);
  CHECK(forked([] {
          return says_what_is_lost(
              [](const std::string&) {
                const rlimit none{.rlim_cur = 64, .rlim_max = RLIM_INFINITY};
                ::setrlimit(RLIMIT_FSIZE, &none);
              },
              "File too large");
        }) == 0);
}

TEST_CASE("a second signal kills at once") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const TempFolder folder;
    CHECK(forked([&] {
            take_default_handlers();
            const auto stop = make_callback<Behind>(2, [&] {
              std::raise(signal);
              std::raise(signal);
            });
            return train({backup(folder), stop}, folder / "weights");
          }) == -signal);
    CHECK(!std::filesystem::exists(folder / "backup/run_state"));
  }
}

TEST_CASE("without a callback that keeps a state, signals do what they always do") {
  for (const int signal : {SIGINT, SIGTERM}) {
    CHECK(forked([&] {
            take_default_handlers();
            const TempFolder folder;
            const auto stop = make_callback<Behind>(2, [&] { std::raise(signal); });
            return train({stop}, folder / "weights");
          }) == -signal);
  }
}

TEST_CASE("an ignored signal stays ignored") {
  CHECK(forked([] {
          take_default_handlers();
          std::signal(SIGINT, SIG_IGN);
          const TempFolder folder;
          const auto stop = make_callback<Behind>(2, [] { std::raise(SIGINT); });
          return train({backup(folder), stop}, folder / "weights") && handler_of(SIGINT) == SIG_IGN;
        }) == 0);
}

namespace {
volatile std::sig_atomic_t calls = 0;
void count_call(int) { calls = calls + 1; }

struct CountsStates : Callback {
  bool keeps_run_state() const override { return true; }
  void keep_run_state(const RunState&) override { ++states; }
  int states = 0;
};
}  // namespace

TEST_CASE("the program's own handler is called, the state is kept, and fit goes on") {
  CHECK(forked([] {
          std::signal(SIGTERM, count_call);
          const TempFolder folder;
          const auto keeps = make_callback<CountsStates>();
          const auto stop = make_callback<Behind>(1, [&] {
            std::raise(SIGTERM);
            std::raise(SIGTERM);
          });
          return train({keeps, stop}, folder / "weights") && calls == 2 && keeps->states == 1 &&
                 handler_of(SIGTERM) == count_call;
        }) == 0);
}

TEST_CASE("a handler that the program sets during fit stays") {
  CHECK(forked([] {
          take_default_handlers();
          const TempFolder folder;
          const auto set = make_callback<Behind>(1, [] { std::signal(SIGINT, count_call); });
          return train({backup(folder), set}, folder / "weights") &&
                 handler_of(SIGINT) == count_call && handler_of(SIGTERM) == SIG_DFL;
        }) == 0);
}

TEST_CASE("SIGTERM ends fits in several threads when the last has written its state") {
  const TempFolder folder;
  CHECK(forked([&] {
          take_default_handlers();
          std::barrier both(2);
          const auto run = [&](const std::string& name, bool raises) {
            const auto stop = make_callback<Behind>(3, [&] {
              both.arrive_and_wait();
              if (raises) std::raise(SIGTERM);
              both.arrive_and_wait();
            });
            train({backup(folder, name), stop}, folder / "weights");
          };
          std::thread first(run, "first", true);
          std::thread second(run, "second", false);
          first.join();
          second.join();
          return true;
        }) == 143);
  CHECK(std::filesystem::exists(folder / "first/run_state"));
  CHECK(std::filesystem::exists(folder / "second/run_state"));
}
