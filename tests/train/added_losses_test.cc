// SPDX-License-Identifier: Apache-2.0
// Losses added by layers, on several replicas.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <map>

#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

// From Keras's guide to custom layers: computes the loss of targets and logits with a loss object,
// and adds a penalty of its own.
class Endpoint : public Layer {
 public:
  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor &logits = inputs[0], &targets = inputs[1], &weights = inputs[2];
    add_loss(loss_(targets, logits, weights));
    add_loss(0.01 * ops::mean(ops::square(logits)));
    accuracy_.update_state(targets, logits, weights);
    return ops::sigmoid(logits);
  }

 private:
  Loss loss_ = losses::BinaryCrossentropy({.from_logits = true});
  metrics::BinaryAccuracy accuracy_ = track(metrics::BinaryAccuracy({.name = "accuracy"}));
};

struct Trained {
  std::map<std::string, std::vector<double>> history;
  Tensor kernel;
};

Trained train(size_t replicas) {
  std::vector<std::string> devices;
  for (size_t i = 0; i < replicas; ++i) devices.push_back(fmt::format("CPU:{}", i));
  const distribute::MirroredStrategy strategy({.devices = devices});
  const auto scope = strategy.scope();
  const Tensor inputs = Input({.shape = {4}, .name = "inputs"}),
               targets = Input({.shape = {1}, .name = "targets"}),
               weights = Input({.shape = {1}, .name = "weights"});
  const layers::Dense dense({.units = 1});
  const Tensor logits = dense(inputs);
  Model model({inputs, targets, weights}, make_layer<Endpoint>()({logits, targets, weights}));
  dense.set_weights({test::some_values({4, 1}), ops::zeros({1})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.5})});
  const Tensors data = {
      {"inputs", test::some_values({30, 4})},
      {"targets", ops::cast(ops::arange(30) % 3 == 0, "float32")(Slice(), newaxis)},
      {"weights", (ops::cast(ops::arange(30) % 5, "float32") + 0.5)(Slice(), newaxis)}};
  const History history =
      model.fit(data, {.batch_size = 7, .epochs = 2, .verbose = 0, .shuffle = false});
  return {{history.begin(), history.end()}, dense.get_weights()[0]};
}

}  // namespace

TEST_CASE("a loss object's value that a layer adds counts once, on any number of replicas") {
  const Trained expected = train(1);
  for (const size_t replicas : {2, 3}) {
    CAPTURE(replicas);
    const Trained found = train(replicas);
    CHECK(test::distance(found.kernel, expected.kernel) < 1e-6);
    for (const auto& entry : expected.history) {
      const std::vector<double>& values = entry.second;
      CAPTURE(entry.first);
      for (size_t i = 0; i < values.size(); ++i) {
        CHECK(found.history.at(entry.first)[i] == doctest::Approx(values[i]).epsilon(1e-5));
      }
    }
  }
}
