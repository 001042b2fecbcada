// SPDX-License-Identifier: Apache-2.0
// Asynchronous training: one coordinator (this program as "chief"), workers and parameter servers.
// Every task runs this same program; TF_CONFIG specifies which one it is.
#include <cornu/cornu.h>
#include <fmt/core.h>

using namespace cornu;

int main() {
  distribute::TFConfigClusterResolver cluster;
  if (cluster.task_type() == "worker" || cluster.task_type() == "ps") {
    distribute::Server server({.cluster = cluster});
    server.join();  // returns when the job ends
    return 0;
  }

  distribute::ParameterServerStrategy strategy(
      {.cluster = cluster,
       .variable_partitioner = distribute::partitioners::MinSizePartitioner(
           {.min_shard_bytes = 256 << 10, .max_shards = 2})});
  distribute::ClusterCoordinator coordinator(strategy);

  auto scope = strategy.scope();
  Sequential model({layers::Flatten(), layers::Dense({.units = 128, .activation = "relu"}),
                    layers::Dense({.units = 10})});
  optimizers::SGD optimizer({.learning_rate = 0.05});
  losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});

  auto per_worker_dataset =
      coordinator.create_per_worker_dataset([](const distribute::InputContext& context) {
        auto [train, test] = datasets::mnist::load_data();
        return data::Dataset::from_tensor_slices(
                   {ops::cast(train.x, DType::Float32) / 255.0f, train.y})
            .shard(context.num_input_pipelines, context.input_pipeline_id)
            .shuffle(10'000)
            .repeat()
            .batch(64);
      });

  Function step = function([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    Tensor loss = loss_fn(y, model(x, {.training = true}));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                              model.trainable_variables());
    return loss;
  });

  std::vector<distribute::RemoteValue> losses;
  for (int i = 0; i < 500; ++i) losses.push_back(coordinator.schedule(step, per_worker_dataset));
  coordinator.join();  // a worker that dies is replaced, and its steps run elsewhere
  fmt::print("last loss {:.4f}\n", losses.back().fetch().item<float>());
  return 0;
}
