// SPDX-License-Identifier: Apache-2.0
// Tutorials: tf.distribute with fit, and with a custom training loop.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

constexpr int64_t kBatchSize = 16;

data::Dataset make_dataset() {
  Tensor train_images = positive({64, 28, 28, 1}, 1400);
  Tensor train_labels = labels(64, 10, 1401);
  return data::Dataset::from_tensor_slices({train_images, train_labels}).batch(kBatchSize);
}

Sequential create_model() {
  Sequential model({
      Input({.shape = {28, 28, 1}}),
      layers::Conv2D({.filters = 8, .kernel_size = 3, .activation = "relu"}),
      layers::MaxPooling2D(),
      layers::Conv2D({.filters = 16, .kernel_size = 3, .activation = "relu"}),
      layers::MaxPooling2D(),
      layers::Flatten(),
      layers::Dense({.units = 16, .activation = "relu"}),
      layers::Dense({.units = 10}),
  });
  initialize(model, 1410);
  return model;
}

}  // namespace

TEST_CASE("distributed_fit") {
  const Golden golden("distributed_fit");
  distribute::OneDeviceStrategy strategy("/cpu:0");
  golden.check("replicas", strategy.num_replicas_in_sync());
  auto scope = strategy.scope();
  Sequential model = create_model();
  model.compile({
      .optimizer = optimizers::Adam(),
      .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
      .metrics = {"accuracy"},
  });
  golden.check("history", model.fit(make_dataset().repeat(),
                                    {.epochs = 2, .verbose = 0, .steps_per_epoch = 4}));
  golden.check("evaluate", model.evaluate(make_dataset(), {.verbose = 0}));
}

TEST_CASE("distributed_loop") {
  const Golden golden("distributed_loop");
  distribute::OneDeviceStrategy strategy("/cpu:0");
  auto scope = strategy.scope();
  const auto global_batch_size = static_cast<double>(kBatchSize * strategy.num_replicas_in_sync());
  // Set reduction to None so you can do the reduction afterwards.
  losses::SparseCategoricalCrossentropy loss_object(
      {.from_logits = true, .reduction = Reduction::None});
  metrics::SparseCategoricalAccuracy train_accuracy({.name = "train_accuracy"});
  Sequential model = create_model();
  optimizers::Adam optimizer({.learning_rate = 0.001});

  Function train_step = function([&](const Tensor& images, const Tensor& labels) {
    GradientTape tape;
    Tensor predictions = model(images, {.training = true});
    Tensor loss = ops::sum(loss_object(labels, predictions)) / global_batch_size;
    auto gradients = tape.gradient(loss, model.trainable_variables());
    optimizer.apply(gradients, model.trainable_variables());
    train_accuracy.update_state(labels, predictions);
    return loss;
  });

  std::vector<double> losses, accuracies;
  for (int epoch = 0; epoch < 2; ++epoch) {
    Tensor total_loss = 0.0;
    int num_batches = 0;
    for (const auto& [x, y] : make_dataset()) {
      distribute::PerReplica per_replica_losses = strategy.run(train_step, {x, y});
      total_loss += strategy.reduce(ReduceOp::Sum, per_replica_losses);
      ++num_batches;
    }
    losses.push_back(double(total_loss / num_batches));
    accuracies.push_back(double(train_accuracy.result()));
    train_accuracy.reset_state();
  }
  golden.check("losses", losses);
  golden.check("accuracies", accuracies);
}
