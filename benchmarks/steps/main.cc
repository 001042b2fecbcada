// SPDX-License-Identifier: Apache-2.0
// One of the measured trainings, run on demand: prints "ready", then for every line it reads trains
// one epoch and prints its milliseconds a step. compare.py drives it beside the peers.
//   bench_steps WORK BATCH_SIZE STEPS [REPLICAS|workers]
//     WORK: one of kWorks; with "_bf16" behind it in mixed_bfloat16
// With REPLICAS on that many logical CPUs under MirroredStrategy; with "workers" as one of the
// workers that TF_CONFIG tells of. BATCH_SIZE is that of all of them together.
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "benchmarks/steps/transformers.h"

using namespace cornu;

namespace {

constexpr const char* kWorks =
    "mlp, cnn, cifar, lstm, gru, transformer, gpt, mobilenet, resnet, densenet or efficientnet";

struct Work {
  Model model;
  Shape example;
  Optimizer optimizer;
  bool characters = false;  // in and out, in place of numbers and one of ten classes
};

Work make_work(const std::string& name) {
  if (name == "mlp") {
    return {
        Sequential(Input({.shape = {784}}), {layers::Dense({.units = 512, .activation = "relu"}),
                                             layers::Dense({.units = 10})}),
        {784},
        optimizers::Adam({.learning_rate = 1e-3})};
  }
  if (name == "cnn") {
    return {Sequential(
                Input({.shape = {28, 28, 1}}),
                {layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
                 layers::MaxPooling2D(), layers::Flatten(),
                 layers::Dense({.units = 64, .activation = "relu"}), layers::Dense({.units = 10})}),
            {28, 28, 1},
            optimizers::SGD({.learning_rate = 1e-3})};
  }
  if (name == "mobilenet") {
    return {applications::MobileNetV2({.input_shape = {96, 96, 3},
                                       .weights = nullptr,
                                       .classes = 10,
                                       .classifier_activation = nullptr}),
            {96, 96, 3},
            optimizers::Adam({.learning_rate = 1e-3})};
  }
  const applications::ApplicationOptions small{.weights = nullptr,
                                               .input_shape = {64, 64, 3},
                                               .classes = 10,
                                               .classifier_activation = nullptr};
  if (name == "resnet" || name == "densenet") {
    return {name == "resnet" ? applications::ResNet50(small) : applications::DenseNet121(small),
            {64, 64, 3},
            optimizers::SGD({.learning_rate = 1e-3})};
  }
  if (name == "efficientnet") {
    return {applications::EfficientNetB0(small),
            {64, 64, 3},
            optimizers::Adam({.learning_rate = 1e-3})};
  }
  if (name == "transformer") {
    return {benchmarks::transformer_block(), {128, 512}, optimizers::Adam({.learning_rate = 1e-3})};
  }
  if (name == "gpt") {
    return {benchmarks::gpt(), {256}, optimizers::Adam({.learning_rate = 1e-3}), true};
  }
  if (name == "lstm" || name == "gru") {
    const LayerHandle recurrent = name == "lstm" ? LayerHandle(layers::LSTM({.units = 128}))
                                                 : LayerHandle(layers::GRU({.units = 128}));
    return {Sequential(Input({.shape = {50, 64}}), {recurrent, layers::Dense({.units = 10})}),
            {50, 64},
            optimizers::Adam({.learning_rate = 1e-3})};
  }
  check<InvalidArgument>(name == "cifar", "expected {}, got '{}'.", kWorks, name);
  auto conv = [](int64_t filters, const char* padding) {
    return layers::Conv2D(
        {.filters = filters, .kernel_size = 3, .padding = padding, .activation = "relu"});
  };
  return {Sequential(Input({.shape = {32, 32, 3}}),
                     {conv(32, "same"), conv(32, "valid"), layers::MaxPooling2D(), conv(64, "same"),
                      conv(64, "valid"), layers::MaxPooling2D(), layers::Flatten(),
                      layers::Dense({.units = 512, .activation = "relu"}),
                      layers::Dropout({.rate = 0.5}), layers::Dense({.units = 10})}),
          {32, 32, 3},
          optimizers::Adam({.learning_rate = 1e-3})};
}

Strategy make_strategy(const std::string& replicas) {
  if (replicas.empty()) return get_strategy();
  if (replicas == "workers") return distribute::MultiWorkerMirroredStrategy();
  std::vector<std::string> devices;
  for (int i = 0; i < std::atoi(replicas.c_str()); ++i) devices.push_back(fmt::format("CPU:{}", i));
  return distribute::MirroredStrategy({.devices = devices});
}

int run(std::string name, int64_t batch_size, int64_t steps, const std::string& replicas) {
  set_random_seed(0);
  constexpr std::string_view half = "_bf16";
  if (name.ends_with(half)) {
    set_dtype_policy("mixed_bfloat16");
    name.resize(name.size() - half.size());
  }
  const Strategy strategy = make_strategy(replicas);
  const auto scope = strategy.scope();
  Work work = make_work(name);
  const int64_t rows = batch_size * steps;
  const Shape shape = Shape{rows}.concat(work.example);
  const int64_t characters = benchmarks::kVocabulary;
  const Tensor x = work.characters ? random::randint(shape, 0, characters, {.seed = 1})
                                   : random::uniform(shape, {.seed = 1});
  const Tensor y = work.characters ? random::randint(shape, 0, characters, {.seed = 2})
                                   : random::randint({rows}, 0, 10, {.seed = 2});
  work.model.compile({.optimizer = work.optimizer,
                      .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                      .metrics = {"accuracy"}});
  auto epoch = [&] { work.model.fit(x, y, {.batch_size = batch_size, .epochs = 1, .verbose = 0}); };
  epoch();
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    epoch();
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    std::cout << taken.count() / static_cast<double>(steps) << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    fmt::print(stderr,
               "usage: bench_steps WORK[_bf16] BATCH_SIZE STEPS [REPLICAS|workers]\nWORK: {}\n",
               kWorks);
    return 2;
  }
  try {
    return run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), argc == 5 ? argv[4] : "");
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
