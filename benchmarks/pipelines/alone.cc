// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pipelines/alone.h"

#include <cornu/cornu.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <vector>

namespace cornu::benchmarks {
namespace {

using data::Dataset;

constexpr int64_t kBatch = 64;
constexpr int64_t kSteps = 300;

double microseconds(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

// Takes about a fifth of a millisecond.
Tensor costly(const Tensor& x) {
  double sum = static_cast<double>(x.item<int64_t>());
  for (int i = 0; i < 20'000; ++i) sum = std::sin(sum) + 1;
  return Tensor::scalar(sum);
}

void map_scaling() {
  constexpr int64_t kElements = 2000;
  std::vector<double> times;
  for (const int64_t calls : {int64_t{1}, int64_t{2}, int64_t{4}, data::kAutotune}) {
    const auto dataset = Dataset::range(kElements).map(
        costly, {.num_parallel_calls = calls,
                 .output_signature = data::spec_of(Tensor::scalar(0.0)),
                 .traced = false});
    times.push_back(microseconds([&] {
                      for (const data::Element& element : dataset) static_cast<void>(element);
                    }) /
                    static_cast<double>(kElements));
  }
  fmt::print("{:.2f}", fmt::join(times, " "));
  for (size_t i = 1; i < times.size(); ++i) fmt::print(" {:.3f}", times[0] / times[i]);
  fmt::print("\n");
}

// The convolutional network of apps/cnn, with the data of an epoch in two forms.
class Cnn {
 public:
  Cnn()
      : model_({
            layers::Reshape({28, 28, 1}),
            layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
            layers::MaxPooling2D(),
            layers::Flatten(),
            layers::Dense({.units = 64, .activation = "relu"}),
            layers::Dense({.units = 10}),
        }) {
    PhiloxEngine engine(1);
    Tensor images = Tensor::empty({kBatch * kSteps, 28, 28}, DType::UInt8);
    for (uint8_t& value : images.mutable_data<uint8_t>()) value = static_cast<uint8_t>(engine());
    labels_ = Tensor::empty({kBatch * kSteps}, DType::Int64);
    for (int64_t& label : labels_.mutable_data<int64_t>()) {
      label = static_cast<int64_t>(engine() % 10);
    }
    images_ = ops::cast(images, DType::Float32) / 255.0f;
    const auto scaled = [](const Tensor& x, const Tensor& y) {
      return std::pair(ops::cast(x, DType::Float32) / 255.0f, y);
    };
    dataset_ = std::make_unique<Dataset>(Dataset::from_tensor_slices({images, labels_})
                                             .shuffle(kBatch * kSteps)
                                             .map(scaled, {.num_parallel_calls = data::kAutotune})
                                             .batch(kBatch)
                                             .prefetch(data::kAutotune));
    model_.compile({.optimizer = optimizers::SGD({.learning_rate = 3e-3}),
                    .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                    .metrics = {"accuracy"}});
    round();  // compiles
  }

  // Microseconds per step for both.
  std::pair<double, double> round() {
    const double arrays =
        microseconds([&] { model_.fit(images_, labels_, {.batch_size = kBatch, .verbose = 0}); });
    const double pipeline = microseconds([&] { model_.fit(*dataset_, {.verbose = 0}); });
    return {arrays / kSteps, pipeline / kSteps};
  }

 private:
  Sequential model_;
  Tensor images_;
  Tensor labels_;
  std::unique_ptr<Dataset> dataset_;
};

}  // namespace

std::function<void()> alone(const std::string& work) {
  if (work == "map_scaling") return map_scaling;
  if (work != "cnn_step") return nullptr;
  return [cnn = std::make_shared<Cnn>()] {
    const auto [arrays, pipeline] = cnn->round();
    fmt::print("{:.2f} {:.2f} {:.4f}\n", arrays, pipeline, pipeline / arrays);
  };
}

}  // namespace cornu::benchmarks
