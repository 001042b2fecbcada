// SPDX-License-Identifier: Apache-2.0
// A custom training loop under any strategy.
#include <cornu/cornu.h>
#include <fmt/core.h>

using namespace cornu;

int main() {
  distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  const int64_t global_batch_size = 64 * strategy.num_replicas_in_sync();

  auto [train, test] = datasets::mnist::load_data();
  auto dataset = strategy.distribute_dataset(
      data::Dataset::from_tensor_slices({train.x, train.y})
          .shuffle(60'000, {.seed = 7})
          .map([](const Tensor& x,
                  const Tensor& y) { return std::pair(ops::cast(x, DType::Float32) / 255.0f, y); },
               {.num_parallel_calls = data::kAutotune})
          .batch(global_batch_size)
          .prefetch(data::kAutotune));

  auto scope = strategy.scope();
  Sequential model({layers::Flatten(), layers::Dense({.units = 128, .activation = "relu"}),
                    layers::Dense({.units = 10})});
  optimizers::SGD optimizer({.learning_rate = optimizers::schedules::CosineDecay(
                                 {.initial_learning_rate = 0.1, .decay_steps = 2'000}),
                             .momentum = 0.9});
  losses::SparseCategoricalCrossentropy loss_fn(
      {.from_logits = true, .reduction = Reduction::None});
  metrics::SparseCategoricalAccuracy accuracy;

  Function train_step = function([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    Tensor logits = model(x, {.training = true});
    Tensor loss = distribute::compute_average_loss(loss_fn(y, logits),
                                                   {.global_batch_size = global_batch_size});
    auto gradients = tape.gradient(loss, model.trainable_variables());
    optimizer.apply_gradients(gradients, model.trainable_variables());
    accuracy.update_state(y, logits);
    return loss;
  });

  for (int epoch = 0; epoch < 2; ++epoch) {
    Tensor total = 0.0f;
    for (const auto& batch : dataset) {
      distribute::PerReplica losses = strategy.run(train_step, batch);
      total = total + strategy.reduce(ReduceOp::Sum, losses);
    }
    fmt::print("epoch {} loss {:.4f} accuracy {:.4f}\n", epoch, total.item<float>(),
               accuracy.result().item<float>());
    accuracy.reset_state();
  }
  return 0;
}
