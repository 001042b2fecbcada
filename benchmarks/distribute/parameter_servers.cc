// SPDX-License-Identifier: Apache-2.0
// A task of a job with parameter servers, configured by TF_CONFIG. The chief prints "ready" and,
// for each line read, the milliseconds per step over STEPS steps that workers run at their own
// pace. Driven by benchmarks/workers.py.
//   bench_parameter_servers mlp|embedding STEPS
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace cornu;
using namespace cornu::distribute;

namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kExamples = 32 * kBatch;
constexpr int64_t kRows = 100'000;  // of the table
constexpr int kWarmUp = 50;

Sequential model_of(bool wide) {
  if (wide) {
    return Sequential({layers::Embedding({.input_dim = kRows, .output_dim = 64}), layers::Flatten(),
                       layers::Dense({.units = 10})});
  }
  return Sequential(
      {layers::Dense({.units = 128, .activation = "relu"}), layers::Dense({.units = 10})});
}

data::Dataset dataset_of(bool wide) {
  const Tensor y = ops::mod(ops::arange(0, kExamples), 10).host();
  const Tensor x = wide ? random::randint({kExamples, 8}, 0, kRows).host()
                        : random::uniform({kExamples, 784}).host();
  return data::Dataset::from_tensor_slices({x, y}).repeat().batch(kBatch);
}

void measure(bool wide, int steps) {
  const ParameterServerStrategy strategy({.variable_partitioner = partitioners::MinSizePartitioner(
                                              {.min_shard_bytes = 256 << 10, .max_shards = 2})});
  const ClusterCoordinator coordinator(strategy);
  const auto scope = strategy.scope();
  Sequential model = model_of(wide);
  const Optimizer optimizer = optimizers::SGD({.learning_rate = 0.01});
  const losses::SparseCategoricalCrossentropy loss_of({.from_logits = true});
  const auto dataset = coordinator.create_per_worker_dataset([&] { return dataset_of(wide); });
  const Function step = function([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor loss = loss_of(y, model(x, {.training = true}));
    const auto variables = model.trainable_variables();
    optimizer.apply_gradients(tape.gradient(loss, variables), variables);
    return loss;
  });
  const auto run = [&](int count) {
    for (int i = 0; i < count; ++i) coordinator.schedule(step, dataset);
    coordinator.join();
  };
  run(kWarmUp);
  fmt::print("ready\n");
  std::cout.flush();
  for (std::string line; std::getline(std::cin, line);) {
    const auto begin = std::chrono::steady_clock::now();
    run(steps);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    fmt::print("{}\n", took.count() / steps);
    std::cout.flush();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (TFConfigClusterResolver().task_type() != "chief") {
    Server().join();
    return 0;
  }
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_parameter_servers mlp|embedding STEPS\n");
    return 2;
  }
  measure(std::string(argv[1]) == "embedding", std::atoi(argv[2]));
}
