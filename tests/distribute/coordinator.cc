// SPDX-License-Identifier: Apache-2.0
// A job with parameter servers for coordinator_test.py, which disturbs it; usage: coordinator
// strategies|fails
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <string>

using namespace cornu;

namespace {

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
    return 3;
  }
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
  for (int i = 0; i < 3; ++i)
    fmt::print("{} steps\n", train(distribute::ParameterServerStrategy()));
}
