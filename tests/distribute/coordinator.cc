// SPDX-License-Identifier: Apache-2.0
// A job with parameter servers for coordinator_test.py, which disturbs it; usage: coordinator
// strategies|fails|exits
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <cstdlib>
#include <string>

using namespace cornu;

namespace {

constexpr int kFailed = 3;

// Trains a model and returns the number of steps counted.
int64_t train(const distribute::ParameterServerStrategy& strategy) {
  const auto scope = strategy.scope();
  Sequential model({layers::Dense({.units = 2})});
  const Optimizer sgd = optimizers::SGD();
  model.compile({.optimizer = sgd, .loss = "mse"});
  model.fit(ops::ones({12, 3}), ops::ones({12, 2}), {.batch_size = 4, .verbose = 0});
  return sgd.iterations();
}

// The strategy is destroyed before its program fails.
int fail() {
  try {
    const distribute::ParameterServerStrategy strategy;
    train(strategy);
    raise<Unavailable>("as if a server were lost");
  } catch (const Error&) {
    return kFailed;
  }
}

// Exits while its steps run.
int exit_early() {
  const distribute::ParameterServerStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model({layers::Dense({.units = 2})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto exits =
      callbacks::LambdaCallback({.on_train_batch_end = [](int64_t batch, const Logs&) {
        if (batch == 7) std::exit(kFailed);
      }});
  model.fit(ops::ones({400, 3}), ops::ones({400, 2}),
            {.batch_size = 4, .verbose = 0, .callbacks = {exits}});
  return 1;
}

}  // namespace

int main(int, char** arguments) {
  const distribute::TFConfigClusterResolver cluster;
  if (cluster.task_type() != "chief") {
    distribute::Server server({.cluster = cluster});
    server.join();
    return 0;
  }
  if (std::string(arguments[1]) == "fails") return fail();
  if (std::string(arguments[1]) == "exits") return exit_early();
  for (int i = 0; i < 3; ++i)
    fmt::print("{} steps\n", train(distribute::ParameterServerStrategy()));
}
