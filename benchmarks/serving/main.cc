// SPDX-License-Identifier: Apache-2.0
// Several client threads request predictions of single examples from one model. Prints "ready",
// then for every line read runs one round and prints requests per second, and the median and 99th
// percentile of their latency in microseconds. Driven by compare.py, which also runs the peer.
//   bench_serving WORK CLIENTS REQUESTS
//     WORK: mlp, cnn, mobilenet or resnet (224x224); REQUESTS: per client in a round
#include <cornu/cornu.h>
#include <fmt/core.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

using namespace cornu;
using Clock = std::chrono::steady_clock;

namespace {

Model make_model(const std::string& name) {
  if (name == "mobilenet") return applications::MobileNetV2({.weights = nullptr});
  if (name == "resnet") return applications::ResNet50({.weights = nullptr});
  if (name == "mlp") {
    return Sequential(Input({.shape = {784}}), {layers::Dense({.units = 128, .activation = "relu"}),
                                                layers::Dense({.units = 10})});
  }
  check<InvalidArgument>(name == "cnn", "expected mlp, cnn, mobilenet or resnet, got '{}'.", name);
  return Sequential(Input({.shape = {28, 28, 1}}),
                    {layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
                     layers::MaxPooling2D(),
                     layers::Conv2D({.filters = 64, .kernel_size = 3, .activation = "relu"}),
                     layers::MaxPooling2D(), layers::Flatten(), layers::Dense({.units = 10})});
}

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// Every client sends its requests one after another.
void round(Model& model, const Shape& example, int clients, int requests) {
  std::vector<std::vector<double>> latencies(static_cast<size_t>(clients));
  std::barrier start(clients + 1);
  std::vector<std::thread> threads;
  for (auto& own : latencies) {
    threads.emplace_back([&] {
      const Tensor x = random::uniform(Shape{1}.concat(example), {.seed = 1});
      model.predict_on_batch(x);  // a thread's first request isn't counted
      start.arrive_and_wait();
      for (int i = 0; i < requests; ++i) {
        const auto begin = Clock::now();
        model.predict_on_batch(x);
        own.push_back(microseconds(Clock::now() - begin));
      }
    });
  }
  start.arrive_and_wait();
  const auto begin = Clock::now();
  for (std::thread& thread : threads) thread.join();
  const double seconds = microseconds(Clock::now() - begin) / 1e6;
  std::vector<double> all;
  for (const auto& own : latencies) all.insert(all.end(), own.begin(), own.end());
  std::sort(all.begin(), all.end());
  fmt::print("{:.0f} {:.1f} {:.1f}\n", static_cast<double>(all.size()) / seconds,
             all[all.size() / 2], all[all.size() * 99 / 100]);
  std::fflush(stdout);
}

int run(const std::string& name, int clients, int requests) {
  set_random_seed(0);
  Model model = make_model(name);
  const Shape example = model.input_shape().slice(1);
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) round(model, example, clients, requests);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int clients = argc == 4 ? std::atoi(argv[2]) : 0;
  const int requests = argc == 4 ? std::atoi(argv[3]) : 0;
  if (clients < 1 || requests < 1) {
    fmt::print(stderr, "usage: bench_serving mlp|cnn|mobilenet|resnet CLIENTS REQUESTS\n");
    return 2;
  }
  try {
    return run(argv[1], clients, requests);
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
