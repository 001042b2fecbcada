// SPDX-License-Identifier: Apache-2.0
// The example of docs/checkpoints.md: a custom training loop resumes, wherever it is killed.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/support/files.h"
#include "tests/support/log.h"
#include "tests/support/processes.h"

using namespace cornu;
using test::forked;
using testing::TempFolder;

namespace {

constexpr int64_t kSteps = 40;

// Called after each step: a test may kill the program there.
std::function<void(int64_t)> behind_step = [](int64_t) {};

data::Dataset make_dataset() {
  const Tensor x = random::normal({60, 4}, {.seed = 1});
  return data::Dataset::from_tensor_slices({x, ops::sum(x, 1, true)});
}

// Trains, and returns the weights and the mean loss.
std::vector<Tensor> train(const std::string& folder) {
  set_random_seed(7);
  Sequential model({Input({.shape = {4}}), layers::Dense({.units = 8, .activation = "relu"}),
                    layers::Dropout({.rate = 0.2}), layers::Dense({.units = 1})});
  optimizers::Adam optimizer({.learning_rate = 0.01});
  optimizer.build(model.trainable_variables());
  metrics::Mean mean_loss;
  Variable step(Tensor::scalar(int64_t{0}), {.name = "step", .trainable = false});
  data::Iterator batches = make_dataset().shuffle(60).batch(8).repeat().iterator();

  Checkpoint checkpoint({{"model", model},
                         {"optimizer", optimizer},
                         {"mean_loss", mean_loss},
                         {"step", step},
                         {"batches", batches}});
  CheckpointManager manager(
      checkpoint,
      {.directory = folder, .max_to_keep = 3, .step_counter = step, .checkpoint_interval = 5});
  manager.restore_or_initialize();

  Function train_step = function([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    Tensor loss = ops::mean(ops::square(model(x, {.training = true}) - y));
    optimizer.apply(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    mean_loss.update_state(loss);
    return loss;
  });

  StopSignals signals;
  data::Element batch;
  while (step.item<int64_t>() < kSteps && batches.next(batch)) {
    const auto& [x, y] = batch;
    train_step(x, y);
    step.assign_add(1);
    behind_step(step.item<int64_t>());
    const auto signal = signals.received();
    manager.save({}, !signal);  // each 5 steps, and when the process is to end
    if (signal && signal->ends) break;
  }
  std::vector<Tensor> result = model.get_weights();
  result.push_back(mean_loss.result());
  return result;
}

// Runs it in a separate process, which `signal` ends after a step. Returns how the process ended,
// and its result.
std::pair<int, std::string> run(const std::string& folder, int64_t last_step = 0, int signal = 0) {
  const std::string file = folder + ".result";
  std::filesystem::remove(file);
  const int end = forked([&] {
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    behind_step = [=](int64_t step) {
      if (step == last_step) std::raise(signal);
    };
    std::string bytes;
    for (const Tensor& tensor : train(folder)) {
      bytes.append(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
    }
    testing::write_file(file, bytes);
    return true;
  });
  return {end, testing::read_file(file)};
}

}  // namespace

TEST_CASE("the loop goes on to the same bits, wherever it is killed") {
  const TempFolder scratch;
  const auto [end, expected] = run(scratch / "whole");
  REQUIRE(end == 0);
  for (const int64_t step : {1, 4, 5, 6, 17, 39}) {
    CAPTURE(step);
    const std::string folder = scratch / std::to_string(step);
    CHECK(run(folder, step, SIGKILL).first == -SIGKILL);
    CHECK(run(folder, step + 1, SIGKILL).first == -SIGKILL);  // and again
    CHECK(run(folder) == std::pair(0, expected));
  }
}

TEST_CASE("a signal ends the loop after its step") {
  const TempFolder scratch;
  const auto [end, expected] = run(scratch / "whole");
  REQUIRE(end == 0);
  CHECK(run(scratch / "term", 13, SIGTERM).first == kTerminatedExitCode);
  CHECK(latest_checkpoint(scratch / "term") == (scratch / "term/ckpt-4").string());
  CHECK(run(scratch / "term", 13, SIGKILL) == std::pair(0, expected));  // step 13 isn't repeated
}

TEST_CASE("a damaged checkpoint is passed over, with a warning") {
  const TempFolder scratch;
  const auto [end, expected] = run(scratch / "whole");
  REQUIRE(end == 0);
  CHECK(run(scratch / "run", 23, SIGKILL).first == -SIGKILL);
  testing::write_file(scratch / "run/ckpt-5", "damaged");
  CHECK(run(scratch / "run") == std::pair(0, expected));
}
