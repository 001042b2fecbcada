// SPDX-License-Identifier: Apache-2.0
// The examples of README.md, docs/gpu.md and docs/tpu.md; the last two run where there is a device.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace cornu;

namespace {

class Residual : public Layer {
 public:
  explicit Residual(int64_t units)
      : dense_(track(layers::Dense({.units = units, .activation = "relu"}))) {}
  void build(const Shape& input_shape) override {
    gain_ = add_weight({.shape = {input_shape.back()}, .initializer = "ones", .name = "gain"});
  }
  Tensor call(const Tensor& x, const CallArgs& args) override {
    return x + gain_ * dense_(x, args);
  }

 private:
  layers::Dense dense_;
  Variable gain_;
};

// Trains a model in the current scope, and returns the number of updates.
int64_t trained() {
  Sequential model({layers::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(ops::ones({8, 4}), ops::ones({8, 1}), {.batch_size = 4, .verbose = 0});
  return model.optimizer().iterations();
}

void train_on_gpu(const Tensor& x, const Tensor& y) {
  distribute::OneDeviceStrategy strategy("GPU:0");  // or MirroredStrategy: one replica for each GPU
  const auto scope = strategy.scope();
  Sequential model({
      layers::Dense({.units = 512, .activation = "relu"}),
      layers::Dense({.units = 10}),
  });
  model.compile(
      {.optimizer = "adam", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit(x, y, {.epochs = 5});
}

void train_on_tpus(const Tensor& x, const Tensor& y) {
  distribute::TPUStrategy strategy;  // one replica for each TPU; OneDeviceStrategy("TPU:0") for one
  const auto scope = strategy.scope();
  Sequential model({
      layers::Dense({.units = 512, .activation = "relu"}),
      layers::Dense({.units = 10}),
  });
  model.compile(
      {.optimizer = "adam", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit(x, y, {.epochs = 5});
}

}  // namespace

TEST_CASE("replicas") {
  distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  auto scope = strategy.scope();
  // create, compile and fit the model
  CHECK(strategy.num_replicas_in_sync() == 2);
  CHECK(trained() == 2);
}

TEST_CASE("workers") {
  distribute::MultiWorkerMirroredStrategy strategy;  // finds its workers: TF_CONFIG, Slurm or MPI
  auto scope = strategy.scope();
  // create, compile and fit the model, with ModelCheckpoint or BackupAndRestore
  CHECK(trained() == 2);
}

TEST_CASE("a program's own numbers") {
  const int64_t rows = 2;
  const auto read_them = [] { return std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}; };
  Sequential model({layers::Dense({.units = 1, .kernel_initializer = "ones"})});
  std::vector<float> numbers = read_them();     // rows * 4 of them, row by row
  Tensor x = Tensor::from(numbers, {rows, 4});  // copied; Tensor::wrap shares memory
  Tensor y = model.predict(x);
  std::vector<float> results = y.to_vector<float>();  // all, row by row
  float first = y(0, 0).item<float>();                // one
  CHECK(results == std::vector<float>{10, 26});
  CHECK(first == 10);
}

TEST_CASE("a layer") {
  Residual layer(4);
  const Tensor x = ops::ones({2, 4});
  CHECK(layer(x).shape() == x.shape());
  CHECK(layer.trainable_weights().size() == 3);
}

TEST_CASE("devices") {
  const Tensor x = ops::ones({32, 8});
  const Tensor y = ops::zeros({32}, "int32");
  if (!config::list_logical_devices(DeviceType::Gpu).empty()) train_on_gpu(x, y);
  if (!config::list_logical_devices(DeviceType::Tpu).empty()) train_on_tpus(x, y);
}
