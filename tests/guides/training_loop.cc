// SPDX-License-Identifier: Apache-2.0
// Guide: writing a training loop from scratch.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

Model get_model() {
  Tensor inputs = Input({.shape = {784}, .name = "digits"});
  Tensor x1 = layers::Dense({.units = 64, .activation = "relu"})(inputs);
  Tensor x2 = layers::Dense({.units = 64, .activation = "relu"})(x1);
  Tensor outputs = layers::Dense({.units = 10, .name = "predictions"})(x2);
  Model model(inputs, outputs);
  initialize(model, 400);
  return model;
}

data::Dataset make_dataset(int64_t count, uint32_t seed) {
  return data::Dataset::from_tensor_slices(
             {values({count, 784}, seed), labels(count, 10, seed + 1)})
      .batch(16);
}

}  // namespace

TEST_CASE("loop_eager") {
  const Golden golden("loop_eager");
  Model model = get_model();
  optimizers::Adam optimizer({.learning_rate = 1e-3});
  losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  metrics::SparseCategoricalAccuracy train_acc_metric;
  metrics::SparseCategoricalAccuracy val_acc_metric;
  auto train_dataset = make_dataset(64, 401);
  auto val_dataset = make_dataset(32, 403);

  std::vector<double> losses, train_accuracies, val_accuracies;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& [x_batch_train, y_batch_train] : train_dataset) {
      GradientTape tape;
      Tensor logits = model(x_batch_train, {.training = true});
      Tensor loss_value = loss_fn(y_batch_train, logits);
      auto grads = tape.gradient(loss_value, model.trainable_weights());
      optimizer.apply(grads, model.trainable_weights());

      // Update training metric.
      train_acc_metric.update_state(y_batch_train, logits);
      losses.push_back(double(loss_value));
    }
    train_accuracies.push_back(double(train_acc_metric.result()));
    // Reset training metrics at the end of each epoch
    train_acc_metric.reset_state();

    // Run a validation loop at the end of each epoch.
    for (const auto& [x_batch_val, y_batch_val] : val_dataset) {
      Tensor val_logits = model(x_batch_val, {.training = false});
      val_acc_metric.update_state(y_batch_val, val_logits);
    }
    val_accuracies.push_back(double(val_acc_metric.result()));
    val_acc_metric.reset_state();
  }
  golden.check("losses", losses);
  golden.check("train", train_accuracies);
  golden.check("val", val_accuracies);
}

namespace {

class ActivityRegularizationLayer : public Layer {
 public:
  Tensor call(const Tensor& inputs, const CallArgs&) override {
    add_loss(1e-2 * ops::sum(inputs));
    return inputs;
  }
};

}  // namespace

TEST_CASE("loop_compiled") {
  const Golden golden("loop_compiled");
  Tensor inputs = Input({.shape = {784}, .name = "digits"});
  Tensor x = layers::Dense({.units = 64, .activation = "relu"})(inputs);
  // Insert activity regularization as a layer
  x = make_layer<ActivityRegularizationLayer>()(x);
  x = layers::Dense({.units = 64, .activation = "relu"})(x);
  Tensor outputs = layers::Dense({.units = 10, .name = "predictions"})(x);
  Model model(inputs, outputs);
  initialize(model, 410);
  optimizers::SGD optimizer({.learning_rate = 1e-3});
  losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  metrics::SparseCategoricalAccuracy train_acc_metric;

  Function train_step = function([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    Tensor logits = model(x, {.training = true});
    Tensor loss_value = loss_fn(y, logits);
    // Add any extra losses created during the forward pass.
    for (const Tensor& extra : model.losses()) loss_value += extra;
    auto grads = tape.gradient(loss_value, model.trainable_weights());
    optimizer.apply(grads, model.trainable_weights());
    train_acc_metric.update_state(y, logits);
    return loss_value;
  });

  std::vector<double> losses;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& [x, y] : make_dataset(64, 401)) {
      losses.push_back(double(train_step(x, y)));
    }
  }
  golden.check("losses", losses);
  golden.check("accuracy", double(train_acc_metric.result()));
}
