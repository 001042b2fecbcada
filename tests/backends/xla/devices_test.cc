// SPDX-License-Identifier: Apache-2.0
// Whole training runs on a PJRT plugin's devices, compared with the CPU's, and what is specific to
// the plugin: its devices, and arrays that programs overwrite or see in part.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/graph/backend.h"
#include "tests/support/errors.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using doctest::Approx;
using test::some_values;

namespace {

Tensor labels(int64_t count, int32_t classes) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<int32_t>((i * 7 + i / 3) % classes));
  }
  return Tensor::from(values);
}

Sequential mlp() {
  return Sequential({Input({.shape = {6}}), layers::Dense({.units = 16, .activation = "relu"}),
                     layers::Dropout({.rate = 0.25, .seed = 3}), layers::Dense({.units = 3})});
}

Sequential cnn() {
  return Sequential({Input({.shape = {8, 8, 1}}),
                     layers::Conv2D({.filters = 4, .kernel_size = 3, .activation = "relu"}),
                     layers::BatchNormalization(), layers::MaxPooling2D(), layers::Flatten(),
                     layers::Dense({.units = 3})});
}

struct Trained {
  std::vector<double> losses;
  std::vector<Tensor> weights;
};

Trained train(Sequential model, const Tensor& x, const Tensor& y) {
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const auto history = model.fit(x, y, {.batch_size = 8, .epochs = 3, .verbose = 0});
  return {history["loss"], model.get_weights()};
}

void check_same(const Trained& found, const Trained& expected) {
  REQUIRE(found.losses.size() == expected.losses.size());
  for (size_t i = 0; i < found.losses.size(); ++i) {
    CHECK(found.losses[i] == Approx(expected.losses[i]).epsilon(1e-4));
  }
  REQUIRE(found.weights.size() == expected.weights.size());
  for (size_t i = 0; i < found.weights.size(); ++i) {
    const auto a = found.weights[i].to_vector<float>();
    const auto b = expected.weights[i].to_vector<float>();
    REQUIRE(a.size() == b.size());
    for (size_t k = 0; k < a.size(); ++k) CHECK(a[k] == Approx(b[k]).epsilon(1e-3).scale(0.1));
  }
}

// Trains on the default device, which is the plugin's, and on the CPU.
template <class Make>
void check_trains_as_on_cpu(Make make, const Tensor& x, const Tensor& y) {
  set_random_seed(5);
  const Trained found = train(make(), x, y);
  const DeviceScope scope("CPU:0");
  set_random_seed(5);
  check_same(found, train(make(), x, y));
}

TEST_CASE("the plugin's devices are listed and described") {
  const auto devices = config::list_physical_devices(DeviceType::Tpu);
  REQUIRE(!devices.empty());
  CHECK(devices[0].name == "/physical_device:TPU:0");
  const auto details = config::get_device_details(devices[0]);
  for (const char* key : {"device_name", "platform", "platform_version", "plugin", "pjrt_api"}) {
    CHECK(!details.at(key).empty());
  }
  const auto beyond = static_cast<int>(devices.size());
  CHECK(test::message_of([&] {
          backend_for({DeviceType::Tpu, beyond});
        }).find("there is no such device") != std::string::npos);
}

TEST_CASE("fit trains dense layers as on the CPU") {
  check_trains_as_on_cpu(mlp, some_values({40, 6}), labels(40, 3));
}

TEST_CASE("fit trains convolutions as on the CPU") {
  check_trains_as_on_cpu(cnn, some_values({20, 8, 8, 1}), labels(20, 3));
}

TEST_CASE("replicas on several devices train as the CPU's") {
  const Tensor x = some_values({40, 6});
  set_random_seed(5);
  Trained found;
  {
    distribute::TPUStrategy strategy;
    CHECK(strategy.num_replicas_in_sync() ==
          static_cast<int64_t>(config::list_logical_devices(DeviceType::Tpu).size()));
    auto scope = strategy.scope();
    found = train(mlp(), x, labels(40, 3));
  }
  const DeviceScope scope("CPU:0");
  set_random_seed(5);
  check_same(found, train(mlp(), x, labels(40, 3)));
}

TEST_CASE("a value that is held isn't overwritten by a step") {
  const Variable w(ops::ones({1000}));
  const Tensor held = w.value();
  const Function step([&](const std::vector<Tensor>&) -> std::vector<Tensor> {
    w.assign(w.value() * 2 + 1);
    return {ops::sum(w.value())};
  });
  CHECK(step()[0].item<float>() == 3000);
  CHECK(step()[0].item<float>() == 7000);
  CHECK(held.to_vector<float>() == std::vector<float>(1000, 1));
  CHECK(w.value().to_vector<float>() == std::vector<float>(1000, 7));
}

TEST_CASE("parts of arrays and other shapes are read on the device") {
  const Tensor x = ops::reshape(ops::arange(12, DType::Float32), {4, 3}).to("TPU:0");
  CHECK((x.rows(1, 3) + 1).to_vector<float>() == std::vector<float>{4, 5, 6, 7, 8, 9});
  CHECK((x.with_shape({2, 6}) * 2).shape() == Shape{2, 6});
  CHECK(ops::sum(x.rows(3, 4).with_shape({3, 1})).item<float>() == 30);
}

TEST_CASE("gradients stop where they are to, eagerly too") {
  const Tensor x = Tensor::from({2.F, 3.F}).to("TPU:0");
  GradientTape tape;
  tape.watch(x);
  const Tensor y = ops::sum(x * ops::stop_gradient(x));
  CHECK(tape.gradient(y, x).to_vector<float>() == std::vector<float>{2, 3});
}

TEST_CASE("what lies on two devices isn't computed with, a copy is") {
  const Tensor a = ops::ones({2}).to("TPU:0");
  const Tensor b = ops::ones({2}).to("CPU:0");
  CHECK_THROWS_AS(a + b, InvalidArgument);
  CHECK((a + b.to("TPU:0")).to_vector<float>() == std::vector<float>{2, 2});
}

TEST_CASE("a name is no TPU of this machine") {
  CHECK(test::message_of<Unimplemented>(
            [] { distribute::TPUClusterResolver resolver({.tpu = "my-tpu"}); }) ==
        "TPUClusterResolver: expected \"\" or \"local\", the TPUs of this machine, got 'my-tpu'. "
        "Run the program on the machine that has them.");
  CHECK(distribute::TPUClusterResolver({.tpu = "local"}).name() == "TPUClusterResolver");
}

}  // namespace
