// SPDX-License-Identifier: Apache-2.0
// Measures the cost of saving the state of a training: the tutorial's CNN, with epochs of STEPS
// steps alternately without and with BackupAndRestore every 100 steps; and the cost of resuming
// from a state. Prints "ready", then for every line read
//   - the wall and the CPU time (of all threads) per step without, then with states, milliseconds,
//   - the time from fit's call to the end of the first step, milliseconds, for a new model without
//   a
//     state, and for one that resumes from a state.
// Driven by compare.py.
//   bench_runstate FOLDER BATCH_SIZE STEPS
#include <cornu/cornu.h>
#include <fmt/core.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

using namespace cornu;
using Clock = std::chrono::steady_clock;

namespace {

constexpr int kEvery = 100;  // steps

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// CPU time used by this process so far.
double cpu_milliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

struct Stopped {};  // thrown by a callback

class Trainings {
 public:
  Trainings(const std::string& folder, int64_t batch_size, int64_t steps)
      : folder_(folder),
        batch_size_(batch_size),
        steps_(steps),
        x_(ops::cast(random::randint({batch_size * steps, 784}, 0, 256, {.seed = 1}),
                     DType::UInt8)),
        y_(random::randint({batch_size * steps}, 0, 10, {.seed = 2})),
        model_(new_model()) {
    epoch(false);
    epoch(true);
  }

  // Wall and CPU milliseconds per step.
  std::array<double, 2> epoch(bool keeps_states) {
    FitOptions options = plain();
    if (keeps_states) options.callbacks = Callbacks(backup("epochs"));
    const auto start = Clock::now();
    const double cpu = cpu_milliseconds();
    model_.fit(x_, y_, options);
    const auto steps = static_cast<double>(steps_);
    return {milliseconds_since(start) / steps, (cpu_milliseconds() - cpu) / steps};
  }

  // Milliseconds from fit's call to the end of the first step of a new model.
  double first_step(bool has_state) {
    std::filesystem::remove_all(folder_ + "/stopped");
    if (has_state) stop_behind(kEvery + 1);
    return stop_behind(1);
  }

 private:
  FitOptions plain() const {
    FitOptions options;
    options.batch_size = batch_size_;
    options.verbose = 0;
    return options;
  }

  callbacks::BackupAndRestore backup(const std::string& name) const {
    return callbacks::BackupAndRestore({.backup_dir = folder_ + "/" + name, .save_freq = kEvery});
  }

  static Sequential new_model() {
    Sequential model({
        layers::Reshape({28, 28, 1}),
        layers::Rescaling({.scale = 1.0 / 255}),
        layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
        layers::MaxPooling2D(),
        layers::Flatten(),
        layers::Dense({.units = 64, .activation = "relu"}),
        layers::Dense({.units = 10}),
    });
    model.compile({.optimizer = optimizers::Adam(),
                   .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
    return model;
  }

  // fit of a new model, stopped after this many steps.
  double stop_behind(int64_t steps) {
    Sequential model = new_model();
    FitOptions options = plain();
    int64_t made = 0;
    const callbacks::LambdaCallback stop({.on_train_batch_end = [&](int64_t, const Logs&) {
      if (++made >= steps) throw Stopped();
    }});
    options.callbacks = {backup("stopped"), stop};
    const auto start = Clock::now();
    try {
      model.fit(x_, y_, options);
    } catch (const Stopped&) {
    }
    return milliseconds_since(start);
  }

  std::string folder_;
  int64_t batch_size_;
  int64_t steps_;
  Tensor x_;
  Tensor y_;
  Sequential model_;
};

int run(const std::string& folder, int64_t batch_size, int64_t steps) {
  set_random_seed(0);
  Trainings trainings(folder, batch_size, steps);
  std::cout << "ready" << std::endl;
  bool states_first = false;
  for (std::string line; std::getline(std::cin, line); states_first = !states_first) {
    std::array<std::array<double, 2>, 2> epochs{};  // without, with
    for (const bool states : {states_first, !states_first}) {
      epochs[states ? 1 : 0] = trainings.epoch(states);
    }
    for (const auto& [wall, cpu] : epochs) std::cout << wall << ' ' << cpu << ' ';
    std::cout << trainings.first_step(false) << ' ' << trainings.first_step(true) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: bench_runstate FOLDER BATCH_SIZE STEPS\n");
    return 2;
  }
  try {
    return run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]));
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
