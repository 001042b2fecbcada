// SPDX-License-Identifier: Apache-2.0
// The multi-worker tutorial: every worker runs this same program; TF_CONFIG specifies the cluster
// and the task. When a worker is killed and restarted, the others wait for it, reload the state and
// continue.
#include <cornu/cornu.h>

using namespace cornu;

int main() {
  distribute::MultiWorkerMirroredStrategy strategy(
      {.communication_options = {.implementation = distribute::CommunicationImplementation::Ring}});
  const int64_t global_batch_size = 64 * strategy.num_replicas_in_sync();

  data::Options options;
  options.distribute.auto_shard_policy = data::AutoShardPolicy::Data;
  auto [train, test] = datasets::mnist::load_data();
  auto dataset = data::Dataset::from_tensor_slices({train.x, train.y})
                     .shuffle(60'000, {.seed = 1})
                     .repeat()
                     .batch(global_batch_size)
                     .with_options(options);

  auto scope = strategy.scope();
  Sequential model({
      layers::Reshape({28, 28, 1}),
      layers::Rescaling({.scale = 1.0 / 255}),
      layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"}),
      layers::MaxPooling2D(),
      layers::Flatten(),
      layers::Dense({.units = 64, .activation = "relu"}),
      layers::Dense({.units = 10}),
  });
  model.compile({.optimizer = optimizers::SGD(
                     {.learning_rate = 0.001 * double(strategy.num_replicas_in_sync())}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(dataset, {.epochs = 3,
                      // also saves the training state: a restarted job resumes where it stopped
                      .callbacks = {callbacks::ModelCheckpoint({.filepath = "ckpt"}),
                                    callbacks::TensorBoard({.log_dir = "logs"})},
                      .steps_per_epoch = 70});
  model.save("mnist.keras");  // called by every worker; only the chief writes to this path
  return 0;
}
