// SPDX-License-Identifier: Apache-2.0
// The tutorial's CNN up to the end of its first training step on MNIST, or for more steps:
// compare.py times the whole process and reads its peak memory.
//   bench_startup [STEPS]
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <cstdlib>

using namespace cornu;

namespace {

void run(int64_t steps) {
  const auto [train, test] = datasets::mnist::load_data();
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
  model.fit(train.x, train.y, {.batch_size = 64, .verbose = 0, .steps_per_epoch = steps});
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? std::atoll(argv[1]) : 1);
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
