// SPDX-License-Identifier: Apache-2.0
// One of the measured trainings, run on demand: prints "ready", then for every line read trains one
// epoch and prints the milliseconds per step. Driven by compare.py, which also runs the peers.
//   bench_steps WORK BATCH_SIZE STEPS [REPLICAS|workers|GPU:0] [side=PIXELS] [tf32]
//     WORK: one of kWorks; with the suffix "_bf16" in mixed_bfloat16
// With REPLICAS on that many logical CPUs under MirroredStrategy; with "workers" as one of the
// workers described by TF_CONFIG. BATCH_SIZE is the total for all of them.
// On a GPU, a few batches, used in turn, are in its memory beforehand. The program prints what
// device it is and, after each time, the peak memory in use on it in bytes. Without a GPU, it
// prints the reason and returns 77.
// side: of the images of MobileNetV2, ResNet50, DenseNet121 and EfficientNetB0.
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/steps/transformers.h"

using namespace cornu;

namespace {

constexpr const char* kWorks =
    "mlp, cnn, cifar, embedding, lstm, gru, transformer, encoder, gpt, mobilenet, resnet, densenet "
    "or efficientnet";
constexpr int kSkipped = 77;
constexpr int64_t kResident = 4;  // batches in a GPU's memory
constexpr int64_t kTableRows = 100'000;

struct Work {
  Model model;
  Shape example;
  Optimizer optimizer;
  int64_t ids = 0;          // number of different ids in the inputs; 0: they are numbers
  bool tells_next = false;  // predicts an id for each, instead of one of ten classes
};

struct Options {
  std::string where = {};  // "": the CPU
  int64_t side = 0;        // 0: the workload's own
  bool tf32 = false;
  bool on_gpu() const { return where.starts_with("GPU"); }
};

Work make_embedding() {
  return {Sequential(
              Input({.shape = {8}, .dtype = DType::Int32}),
              {layers::Embedding({.input_dim = kTableRows, .output_dim = 64}), layers::Flatten(),
               layers::Dense({.units = 64, .activation = "relu"}), layers::Dense({.units = 10})}),
          {8},
          optimizers::SGD({.learning_rate = 1e-3}),
          kTableRows};
}

Work make_work(const std::string& name, int64_t side) {
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
    if (side == 0) side = 96;
    return {applications::MobileNetV2({.input_shape = {side, side, 3},
                                       .weights = nullptr,
                                       .classes = 10,
                                       .classifier_activation = nullptr}),
            {side, side, 3},
            optimizers::Adam({.learning_rate = 1e-3})};
  }
  if (side == 0) side = 64;
  const applications::ApplicationOptions small{.weights = nullptr,
                                               .input_shape = {side, side, 3},
                                               .classes = 10,
                                               .classifier_activation = nullptr};
  if (name == "resnet" || name == "densenet") {
    return {name == "resnet" ? applications::ResNet50(small) : applications::DenseNet121(small),
            {side, side, 3},
            optimizers::SGD({.learning_rate = 1e-3})};
  }
  if (name == "efficientnet") {
    return {applications::EfficientNetB0(small),
            {side, side, 3},
            optimizers::Adam({.learning_rate = 1e-3})};
  }
  if (name == "transformer") {
    return {benchmarks::encoder(1, 128), {128, 512}, optimizers::Adam({.learning_rate = 1e-3})};
  }
  if (name == "encoder") {
    return {benchmarks::encoder(6, 512), {512, 512}, optimizers::Adam({.learning_rate = 1e-3})};
  }
  if (name == "gpt") {
    return {benchmarks::gpt(),
            {256},
            optimizers::Adam({.learning_rate = 1e-3}),
            benchmarks::kVocabulary,
            true};
  }
  if (name == "embedding") return make_embedding();
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

Strategy make_strategy(const Options& options) {
  if (options.where.empty()) return get_strategy();
  if (options.where == "workers") return distribute::MultiWorkerMirroredStrategy();
  if (options.on_gpu()) return distribute::OneDeviceStrategy(options.where);
  std::vector<std::string> devices;
  for (int i = 0; i < std::atoi(options.where.c_str()); ++i) {
    devices.push_back(fmt::format("CPU:{}", i));
  }
  return distribute::MirroredStrategy({.devices = devices});
}

using Examples = std::pair<Tensor, Tensor>;

Examples make_examples(const Work& work, int64_t rows) {
  const Shape shape = Shape{rows}.concat(work.example);
  return {work.ids > 0 ? random::randint(shape, 0, work.ids, {.seed = 1})
                       : random::uniform(shape, {.seed = 1}),
          work.tells_next ? random::randint(shape, 0, work.ids, {.seed = 2})
                          : random::randint({rows}, 0, 10, {.seed = 2})};
}

// Returns a function that trains one epoch.
std::function<void()> make_epoch(const Work& work, int64_t batch_size, int64_t steps,
                                 const Options& options) {
  if (!options.on_gpu()) {
    const auto [x, y] = make_examples(work, batch_size * steps);
    return [model = work.model, x = x, y = y, batch_size]() mutable {
      model.fit(x, y, {.batch_size = batch_size, .epochs = 1, .verbose = 0});
    };
  }
  std::vector<Examples> resident;
  for (int64_t i = 0; i < kResident; ++i) {
    const auto [x, y] = make_examples(work, batch_size);
    resident.emplace_back(x.to(options.where), y.to(options.where));
  }
  return [model = work.model, resident, steps]() mutable {
    const auto next = [&, i = int64_t{0}]() mutable -> std::optional<Examples> {
      if (i == steps) return std::nullopt;
      return resident[i++ % kResident];
    };
    model.fit(next, {.epochs = 1, .verbose = 0});
  };
}

// Prints what the GPU is.
void show_device(const std::string& name) {
  const int index = Device::parse(name).index;
  for (const auto& gpu : config::list_physical_devices(DeviceType::Gpu)) {
    if (gpu.index != index) continue;
    const auto details = config::get_device_details(gpu);
    const auto found = details.find("device_name");
    std::cout << "device " << (found == details.end() ? gpu.name : found->second) << std::endl;
  }
}

// Why nothing can be measured on a GPU here; empty if it can.
std::string no_gpu() {
  if (!config::list_physical_devices(DeviceType::Gpu).empty()) return {};
  const std::string why = config::why_unavailable(DeviceType::Gpu);
  return why.empty() ? "this build has no backend for GPUs" : why;
}

int run(std::string name, int64_t batch_size, int64_t steps, const Options& options) {
  if (const std::string why = options.on_gpu() ? no_gpu() : ""; !why.empty()) {
    fmt::print(stderr, "skipped: there is no {}: {}\n", options.where, why);
    return kSkipped;
  }
  set_random_seed(0);
  config::enable_tensor_float_32_execution(options.tf32);
  constexpr std::string_view half = "_bf16";
  if (name.ends_with(half)) {
    set_dtype_policy("mixed_bfloat16");
    name.resize(name.size() - half.size());
  }
  const Strategy strategy = make_strategy(options);
  const auto scope = strategy.scope();
  Work work = make_work(name, options.side);
  work.model.compile({.optimizer = work.optimizer,
                      .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                      .metrics = {"accuracy"}});
  const auto epoch = make_epoch(work, batch_size, steps, options);
  epoch();
  if (options.on_gpu()) {
    show_device(options.where);
    epoch();  // runs what was recorded in the first one
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const auto start = std::chrono::steady_clock::now();
    epoch();  // reads the loss at its end, after everything submitted to the device
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    std::cout << taken.count() / static_cast<double>(steps);
    if (options.on_gpu()) std::cout << ' ' << config::get_memory_info(options.where).peak;
    std::cout << std::endl;
  }
  return 0;
}

Options read_options(int count, char** words) {
  Options options;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    if (word == "tf32") {
      options.tf32 = true;
    } else if (word.starts_with("side=")) {
      options.side = std::atoll(word.c_str() + 5);
    } else {
      options.where = word;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr,
               "usage: bench_steps WORK[_bf16] BATCH_SIZE STEPS [REPLICAS|workers|GPU:0] "
               "[side=PIXELS] [tf32]\nWORK: {}\n",
               kWorks);
    return 2;
  }
  try {
    return run(argv[1], std::atoll(argv[2]), std::atoll(argv[3]), read_options(argc - 4, argv + 4));
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
