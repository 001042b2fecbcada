// SPDX-License-Identifier: Apache-2.0
// Full, failing and slow disks: what was saved is kept, and training continues.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "framework/saving/run_state.h"
#include "framework/saving/run_state_writer.h"
#include "tests/faults/faulty_disk.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/log.h"

using namespace cornu;
using faults::FaultyDisk;
using test::message_of;
using testing::contains;
using testing::names_in;
using testing::TempFolder;

namespace {

namespace fs = std::filesystem;

constexpr int64_t kForever = 1'000'000'000;

RunState some_state(int number) {
  RunState state;
  state.info = Json::object({{"number", number}});
  state.tensors = {{"values", Tensor::from<float>({1, 2, 3})}, {"last", ops::zeros({5})}};
  return state;
}

int number_of(const std::optional<RunState>& state) {
  return state ? static_cast<int>(state->info.at("number").as_int()) : 0;
}

// Checks a save that fails at one of its calls; returns false when it makes fewer.
bool check_failing_save(int error, int64_t call) {
  CAPTURE(call);
  const TempFolder scratch;
  RunStateFolder folder(scratch.path());
  for (const int number : {1, 2}) folder.save(some_state(number));
  std::string thrown;
  int64_t calls = 0;
  {
    const FaultyDisk disk(error, call);
    try {
      folder.save(some_state(3));
    } catch (const Error& failure) {
      thrown = failure.what();
    }
    calls = disk.calls();
  }
  const bool in_place = thrown.empty() || contains(thrown, "is in place");
  CHECK(number_of(folder.load()) == (in_place ? 3 : 2));
  if (!thrown.empty()) {
    CHECK(contains(thrown, scratch.path().string()));
    CHECK(contains(thrown, error == EIO ? "Input/output error" : "No space left on device"));
  }
  folder.save(some_state(4));
  CHECK(number_of(folder.load()) == 4);
  CHECK(names_in(scratch.path()) ==
        std::vector<std::string>{"run_state", "run_state.lock", "run_state.previous"});
  testing::write_file(scratch / "run_state", "damaged");
  const test::Log log;
  CHECK(number_of(folder.load()) == (in_place ? 3 : 2));
  return call < calls;
}

// The number of calls that the first save in a folder makes when none fails.
int64_t calls_of_a_save() {
  const TempFolder scratch;
  RunStateFolder folder(scratch.path());
  const FaultyDisk whole(EIO, kForever);
  folder.save(some_state(1));
  return whole.calls();
}

// Waits because states are written by another thread.
void wait_for_call(const FaultyDisk& disk, int64_t call) {
  while (disk.calls() <= call) std::this_thread::yield();
}

// Runs a small training with callbacks that keep states; returns the bytes of the weights.
std::string train(const std::vector<CallbackHandle>& callbacks) {
  clear_session();
  set_random_seed(3);
  Sequential model(
      {layers::Dense({.units = 4}), layers::Dropout({.rate = 0.2}), layers::Dense({.units = 1})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor x = random::normal({20, 3}, {.seed = 1});
  model.fit(x, ops::sum(x, 1),
            {.batch_size = 4, .epochs = 2, .verbose = 0, .callbacks = callbacks});
  std::string bytes;
  for (const Tensor& weight : model.get_weights()) {
    bytes.append(reinterpret_cast<const char*>(weight.raw()), weight.bytes());
  }
  return bytes;
}

CallbackHandle backup(const fs::path& folder, int64_t batches) {
  return callbacks::BackupAndRestore(
      {.backup_dir = folder, .save_freq = batches, .delete_checkpoint = false});
}

// Calls one function before a batch and another after a batch, counted from the start of training.
class Between : public Callback {
 public:
  Between(int64_t first, std::function<void()> begin, int64_t last, std::function<void()> end)
      : first_(first), last_(last), begin_(std::move(begin)), end_(std::move(end)) {}
  void on_train_batch_begin(int64_t, const Logs&) override {
    if (seen_ == first_) begin_();
  }
  void on_train_batch_end(int64_t, const Logs&) override {
    if (seen_++ == last_) end_();
  }

 private:
  int64_t first_, last_;
  std::function<void()> begin_, end_;
  int64_t seen_ = 0;
};

}  // namespace

TEST_CASE("whichever call of a save fails, a whole state is there, and the next save works") {
  for (const int error : {ENOSPC, EIO}) {
    int64_t call = 0;
    while (check_failing_save(error, call)) ++call;
    CHECK(call > 8);
  }
}

TEST_CASE("short and interrupted writes come to an end") {
  const TempFolder scratch;
  RunStateFolder folder(scratch.path());
  const auto disk = FaultyDisk::slow();
  folder.save(some_state(1));
  CHECK(disk.calls() > 100);
  CHECK(number_of(folder.load()) == 1);
}

TEST_CASE("training goes on where a state can't be written, and the next one is") {
  const std::string expected = train({});
  for (int64_t call = 0; call < calls_of_a_save(); ++call) {
    CAPTURE(call);
    const TempFolder folder;
    const test::Log log;
    std::unique_ptr<FaultyDisk> disk;
    const auto faults = make_callback<Between>(
        0, [&] { disk = std::make_unique<FaultyDisk>(call % 2 ? EIO : ENOSPC, call); }, 2,
        [&] { wait_for_call(*disk, call); });
    CHECK(train({backup(folder / "run", 1), faults}) == expected);
    disk.reset();
    const auto state = RunStateFolder(folder / "run").load();
    REQUIRE(state);
    CHECK(state->info.at("epoch").as_int() == 1);
    CHECK(state->info.at("batch").is_null());  // the end of the epoch
  }
}

TEST_CASE("a disk that is full is a warning, and training goes on") {
  const TempFolder folder;
  const std::string expected = train({});
  const test::Log log;
  std::unique_ptr<FaultyDisk> full;
  const auto fill = [&] {
    while (!std::filesystem::exists(folder / "run/run_state")) std::this_thread::yield();
    full = std::make_unique<FaultyDisk>(ENOSPC, 0, kForever);
  };
  const auto fills = make_callback<Between>(2, fill, 6, [&] { wait_for_call(*full, 0); });
  CHECK(train({backup(folder / "run", 1), fills}) == expected);
  full.reset();
  CHECK(contains(log.text(), "The state of the run can't be written, the one before it stays: '" +
                                 (folder / "run/run_state").string() +
                                 "' can't be written: No space left on device. Free some space, or "
                                 "choose another place."));
}

TEST_CASE("a disk that stays full is one warning, and another when it is full again") {
  const TempFolder folder;
  const test::Log log;
  const auto states = std::make_shared<RunStateFolder>(folder / "run");
  RunStateWriter writer(states);
  const auto write = [&](int error) {
    const FaultyDisk disk(error, 0, kForever);
    for (int i = 0; i < 3; ++i) {
      writer.write(some_state(1));
      while (writer.take_error().empty()) std::this_thread::yield();
    }
  };
  const auto warnings = [&] {
    const std::string text = log.text();
    int64_t count = 0;
    for (size_t at = 0; (at = text.find("The state of the run can't", at)) < text.size(); ++at) {
      ++count;
    }
    return count;
  };
  write(ENOSPC);
  CHECK(warnings() == 1);
  write(EIO);
  CHECK(warnings() == 2);
  writer.write(some_state(2));
  while (number_of(states->load()) != 2) std::this_thread::yield();
  write(EIO);
  CHECK(warnings() == 3);
}

TEST_CASE("a folder that can't be used is an error before training") {
  const TempFolder scratch;
  const std::string path = scratch / "run";
  const std::string lock = path + "/run_state.lock";
  const auto error_of = [&](int error, int64_t call) {
    const FaultyDisk disk(error, call);
    return message_of<FailedPrecondition>([&] { RunStateFolder folder(path); });
  };
  const std::string advice = " Make the directory writable, or choose another one.";
  CHECK(error_of(EACCES, 0) ==
        "Run state: " + lock + ": can't be written: Permission denied." + advice);
  CHECK(error_of(ENOSPC, 0) ==
        "Run state: " + lock + ": can't be written: No space left on device." + advice);
  CHECK(error_of(ENOLCK, 1) ==
        "Run state: " + lock + ": can't be locked: No locks available." + advice);
}

TEST_CASE("a state that can't be read is never a fresh start") {
  const TempFolder scratch;
  const std::string path = scratch / "run_state";
  RunStateFolder folder(scratch.path());
  for (const int number : {1, 2}) folder.save(some_state(number));
  {
    const FaultyDisk disk(EACCES, 0, kForever);
    CHECK(message_of<FailedPrecondition>([&] { folder.load(); }) ==
          "'" + path +
              "' can't be opened: Permission denied. Check the permissions, or choose another "
              "place.");
  }
  {
    const test::Log log;
    const FaultyDisk disk(EIO, 1);  // a single read
    CHECK(number_of(folder.load()) == 1);
    CHECK(contains(log.text(), "Input/output error. The state before it is used, "));
  }
  const FaultyDisk disk(EIO, 0, kForever);
  CHECK(contains(message_of<DataLoss>([&] { folder.load(); }),
                 "There is no complete state before it, either. Delete the directory '"));
}
