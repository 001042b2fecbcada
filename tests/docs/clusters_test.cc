// SPDX-License-Identifier: Apache-2.0
// The examples of docs/clusters.md, run by a single worker.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/files.h"

using namespace cornu;

namespace {

Sequential make_model() {
  Sequential model({Input({.shape = {3}}), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  return model;
}

data::Dataset some_rows() {
  const Tensor x = random::normal({12, 3}, {.seed = 1});
  return data::Dataset::from_tensor_slices({x, ops::sum(x, 1, true)}).batch(4);
}

}  // namespace

TEST_CASE("a custom loop that is ended and goes on") {
  const testing::TempFolder temporary;
  const std::string folder = temporary / "run";
  const int64_t steps = 20;
  const auto dataset = some_rows().repeat();
  distribute::MultiWorkerMirroredStrategy strategy;
  const auto scope = strategy.scope();
  const losses::MeanSquaredError loss_of;
  Sequential model = make_model();
  optimizers::SGD optimizer({.learning_rate = 0.1});
  const Function step = function([&](const std::vector<Tensor>& batch) {
    GradientTape tape;
    const Tensor loss = loss_of(batch[1], model(batch[0]));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                              model.trainable_variables());
    return std::vector<Tensor>{loss};
  });
  optimizer.build(model.trainable_variables());
  const auto batches = strategy.distribute_dataset(dataset);
  auto next = batches.iterator();
  distribute::PreemptionCheckpointHandler handler(
      Checkpoint({{"model", model}, {"optimizer", optimizer}, {"batches", next}}), folder);
  distribute::PerReplica batch;
  while (handler.total_run_calls() < steps && next.next(batch)) {
    handler.run([&] { strategy.run(step, batch); });
    if (handler.total_run_calls() % 10 == 0) handler.save();
  }
  CHECK(handler.total_run_calls() == steps);
  CHECK(optimizer.iterations() == steps);
  CHECK(latest_checkpoint(folder) == folder + "/ckpt-20");
}

TEST_CASE("batches of each worker's own") {
  const int64_t global_batch_size = 4;
  const auto read_files = [](int64_t worker, int64_t workers) {
    const Tensor x = random::normal({12, 3}, {.seed = 1});
    return data::Dataset::from_tensor_slices({x, ops::sum(x, 1, true)}).shard(workers, worker);
  };
  distribute::MultiWorkerMirroredStrategy strategy;
  const auto scope = strategy.scope();
  Sequential model = make_model();
  const auto batches =
      strategy.distribute_datasets_from_function([&](const distribute::InputContext& context) {
        return read_files(context.input_pipeline_id, context.num_input_pipelines)
            .batch(context.get_per_replica_batch_size(global_batch_size));
      });
  model.fit(batches, {.epochs = 3, .verbose = 0});
  CHECK(model.optimizer().iterations() == 9);
}

TEST_CASE("the evaluator") {
  const testing::TempFolder temporary;
  const std::string folder = temporary.path();
  make_model().save_weights(folder + "/model.weights.h5");
  const auto dataset = some_rows();
  const auto evaluate = [&](SidecarEvaluatorOptions options) {
    options.max_evaluations = 1;
    Sequential model = make_model();
    return SidecarEvaluator(model, dataset, options).start();
  };
  const Logs logs = evaluate({.checkpoint_dir = folder,
                              .callbacks = {callbacks::TensorBoard({.log_dir = folder + "/eval"})},
                              .verbose = 0});
  CHECK(std::isfinite(logs.at("loss")));
}

TEST_CASE("states on each worker's own disk") {
  callbacks::BackupAndRestore backup({.backup_dir = "/local/state", .on_every_worker = true});
  CHECK(CallbackHandle(backup)->class_name() == "BackupAndRestore");
}

TEST_CASE("how gradients travel") {
  distribute::MultiWorkerMirroredStrategy strategy(
      {.communication_options = {.implementation = distribute::CommunicationImplementation::Ring,
                                 .bytes_per_pack = 8 << 20,
                                 .compression = DType::BFloat16,
                                 .timeout_seconds = 120}});
  CHECK(strategy.num_replicas_in_sync() == 1);
}
