// SPDX-License-Identifier: Apache-2.0
// Custom loops that are stopped from outside.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <csignal>

#include "tests/support/files.h"
#include "tests/support/processes.h"

using namespace cornu;
using distribute::PreemptionCheckpointHandler;
using distribute::TerminationConfig;
using test::forked;
using testing::TempFolder;

namespace {

// Counts to ten, one per call; each call runs `during` with the number of completed calls.
bool count_to_ten(const std::string& folder, const TerminationConfig& config,
                  const std::function<void(int64_t)>& during = {}) {
  std::signal(SIGTERM, SIG_DFL);  // not those of the test program
  std::signal(SIGINT, SIG_DFL);
  Variable count(Tensor::scalar(int64_t{0}), {.trainable = false});
  PreemptionCheckpointHandler handler(Checkpoint({{"count", count}}), folder, config);
  if (count.item<int64_t>() != handler.total_run_calls()) return false;
  while (handler.total_run_calls() < 10) {
    const int64_t result = handler.run([&] {
      if (during) during(handler.total_run_calls());
      count.assign(count.value() + 1);
      return count.item<int64_t>();
    });
    if (result != handler.total_run_calls()) return false;
  }
  return count.item<int64_t>() == 10;
}

std::function<void(int64_t)> raises(int signal, int64_t after) {
  return [=](int64_t calls) {
    if (calls == after) std::raise(signal);
  };
}

}  // namespace

TEST_CASE("a loop goes on where SIGTERM has ended it") {
  const TempFolder folder;
  const std::string run = folder / "run";
  CHECK(forked([&] { return count_to_ten(run, {}, raises(SIGTERM, 3)); }) == kTerminatedExitCode);
  CHECK(latest_checkpoint(run) == run + "/ckpt-4");
  CHECK(forked([&] { return count_to_ten(run, {}, raises(SIGTERM, 7)); }) == kTerminatedExitCode);
  CHECK(latest_checkpoint(run) == run + "/ckpt-8");
  CHECK(forked([&] { return count_to_ten(run, {}); }) == 0);
}

TEST_CASE("a program that catches nothing ends by SIGTERM as one that does") {
  const TempFolder folder;
  const std::string run = folder / "run";
  const auto count = [&]() noexcept { return count_to_ten(run, {}, raises(SIGTERM, 3)); };
  CHECK(forked([&] { return count(); }) == kTerminatedExitCode);
  CHECK(latest_checkpoint(run) == run + "/ckpt-4");
  const TerminationConfig watched{.termination_watcher_fn = [] { return true; }};
  const auto is_told = [&]() noexcept { return count_to_ten(run, watched); };
  CHECK(forked([&] { return is_told(); }) == kTerminatedExitCode);
  CHECK(latest_checkpoint(run) == run + "/ckpt-5");
}

TEST_CASE("SIGINT is an exception when the state is kept") {
  const TempFolder folder;
  const std::string run = folder / "run";
  CHECK(forked([&] {
          try {
            count_to_ten(run, {}, raises(SIGINT, 5));
          } catch (const Interrupted& stop) {
            return stop.signal() == SIGINT &&
                   std::string(stop.what()).find("The state after 6 calls has been saved") !=
                       std::string::npos;
          }
          return false;
        }) == 0);
  CHECK(latest_checkpoint(run) == run + "/ckpt-6");
}

TEST_CASE("a watcher says when, exit_fn how it ends, and save_fn what is kept") {
  const TempFolder folder;
  const std::string run = folder / "run";
  int asked = 0;
  int exits = 0;
  const TerminationConfig config{.termination_watcher_fn = [&] { return ++asked == 2; },
                                 .exit_fn = [&] { ++exits; }};
  CHECK(count_to_ten(run, config));  // this exit_fn returns
  CHECK(exits == 1);
  CHECK(asked == 10);
  CHECK(latest_checkpoint(run) == run + "/ckpt-2");
  int saves = 0;
  asked = 0;
  TerminationConfig own = config;
  own.save_fn = [&] { ++saves; };
  CHECK(count_to_ten(folder / "other", own));
  CHECK(saves == 1);
  CHECK(!latest_checkpoint(folder / "other"));
}
