// SPDX-License-Identifier: Apache-2.0
// Parameter servers, workers and their coordinator, in one process.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "distribute/parameter_server/divide_step.h"
#include "framework/graph/replica.h"
#include "framework/graph/trace.h"
#include "tests/distribute/job.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using namespace cornu::distribute;
using test::error_of;
using test::Job;

TEST_CASE("variables of a strategy with parameter servers live there") {
  Job job(1, 2);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  const auto scope = strategy.scope();
  const Variable w(ops::ones({2, 3}), {.name = "w"});
  CHECK(w.home() != nullptr);
  CHECK(w.to_vector<float>() == std::vector<float>(6, 1));
  w.assign_add(ops::ones({2, 3}));
  CHECK(w.to_vector<float>() == std::vector<float>(6, 2));
  w.assign(ops::zeros({2, 3}));
  CHECK(w.to_vector<float>() == std::vector<float>(6, 0));
  // Compiled code reads the current value.
  const Function doubled = function([&] { return w.value() * 2.0f + 1.0f; });
  CHECK(doubled().single().to_vector<float>() == std::vector<float>(6, 1));
  w.assign(ops::ones({2, 3}));
  CHECK(doubled().single().to_vector<float>() == std::vector<float>(6, 3));
  const Function writes = function([&] { w.assign_add(ops::ones({2, 3})); });
  CHECK(error_of([&] { writes(); }) ==
        "FailedPrecondition: Variable 'w': parameter servers keep it, and this step, which writes "
        "it, was called here. Give it to ClusterCoordinator::schedule.");
}

TEST_CASE("steps run on workers and update what servers keep") {
  for (const bool divided : {false, true}) {
    CAPTURE(divided);
    Job job(2, 2);
    ParameterServerStrategy strategy(
        {.cluster = job.resolver(),
         .variable_partitioner =
             divided ? partitioners::FixedShardsPartitioner({.num_shards = 2}) : Partitioner()});
    ClusterCoordinator coordinator(strategy);
    const auto scope = strategy.scope();
    const Variable w(ops::zeros({5, 3}), {.name = "w"});
    const Variable count(Tensor(int64_t{0}), {.name = "count", .trainable = false});
    const Variable set(Tensor(0.0f), {.name = "set", .trainable = false});
    const Variable average(Tensor(1.0f), {.name = "average", .trainable = false});
    const Function step = function([&](const Tensor& x) {
      w.assign_add(x);
      count.assign_sub(Tensor(int64_t{-1}));
      set.assign(ops::cast(set.value() + ops::sum(x), DType::Float32));
      average.assign(average.value() * 0.5f + ops::mean(x) * 0.25f);
      return ops::sum(x) + 1.0f;
    });
    std::vector<RemoteValue> results;
    for (int i = 0; i < 50; ++i) results.push_back(coordinator.schedule(step, ops::ones({5, 3})));
    coordinator.join();
    CHECK(coordinator.done());
    for (const RemoteValue& result : results) CHECK(result.fetch().item<float>() == 16);
    CHECK(w.to_vector<float>() == std::vector<float>(15, 50));
    CHECK(count.item<int64_t>() == 50);
    CHECK(set.item<float>() == 750);
    CHECK(average.item<float>() == doctest::Approx(0.5));
  }
}

namespace {

Tensor pictures() { return ops::sin(ops::reshape(ops::arange(0, 24 * 6), {24, 6})).host(); }
Tensor labels() { return ops::mod(ops::arange(0, 24), 3).host(); }

// A model and its optimizer; step() trains them on a batch.
struct Training {
  explicit Training(const Optimizer& own) : optimizer(own) {}

  Function step() {
    return function([this](const Tensor& x, const Tensor& y) {
      GradientTape tape;
      const Tensor loss = loss_of(y, model(x, {.training = true}));
      const std::vector<Variable> variables = model.trainable_variables();
      optimizer.apply_gradients(tape.gradient(loss, variables), variables);
      return loss;
    });
  }

  Optimizer optimizer;
  losses::SparseCategoricalCrossentropy loss_of{{.from_logits = true}};
  Sequential model{{layers::Dense({.units = 7, .activation = "tanh"}), layers::BatchNormalization(),
                    layers::Dropout({.rate = 0.2, .seed = 4}), layers::Dense({.units = 3})}};
};

struct Trained {
  std::vector<float> losses;
  std::vector<std::vector<float>> weights;
};

template <class Run>
Trained trained(Training& training, int steps, const Run& run) {
  Trained result;
  const Function step = training.step();
  const Tensor x = pictures();
  const Tensor y = labels();
  for (int i = 0; i < steps; ++i) {
    const int64_t begin = 8 * (i % 3);
    result.losses.push_back(
        run(step, x.rows(begin, begin + 8), y.rows(begin, begin + 8)).template item<float>());
  }
  for (const Variable& weight : training.model.weights()) {
    result.weights.push_back(weight.to_vector<float>());
  }
  return result;
}

void check_close(const Trained& found, const Trained& expected) {
  REQUIRE(found.losses.size() == expected.losses.size());
  for (size_t i = 0; i < found.losses.size(); ++i) {
    CHECK(found.losses[i] == doctest::Approx(expected.losses[i]).epsilon(2e-5));
  }
  REQUIRE(found.weights.size() == expected.weights.size());
  for (size_t i = 0; i < found.weights.size(); ++i) {
    REQUIRE(found.weights[i].size() == expected.weights[i].size());
    for (size_t k = 0; k < found.weights[i].size(); ++k) {
      CHECK(found.weights[i][k] == doctest::Approx(expected.weights[i][k]).epsilon(1e-4));
    }
  }
}

}  // namespace

TEST_CASE("one worker, one step at a time, trains as this process does") {
  using MakeOptimizer = std::function<Optimizer()>;
  const std::vector<std::pair<const char*, MakeOptimizer>> optimizers = {
      {"SGD", [] { return optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}); }},
      {"Adam", [] { return optimizers::Adam({.learning_rate = 0.01, .amsgrad = true}); }},
      {"AdamW", [] { return optimizers::AdamW({.learning_rate = 0.01, .clipnorm = 0.5}); }},
      {"RMSprop", [] { return optimizers::RMSprop({.learning_rate = 0.01, .centered = true}); }},
      {"Adagrad", [] { return optimizers::Adagrad({.global_clipnorm = 0.3}); }},
      {"Lion", [] { return optimizers::Lion({.learning_rate = 0.01, .use_ema = true}); }},
      {"Adafactor", [] { return optimizers::Adafactor({.learning_rate = 0.01}); }},
      {"accumulated",
       [] { return optimizers::SGD({.learning_rate = 0.1, .gradient_accumulation_steps = 2}); }},
      {"scheduled", [] {
         return optimizers::SGD(
             {.learning_rate = optimizers::schedules::ExponentialDecay(
                  {.initial_learning_rate = 0.1, .decay_steps = 2, .decay_rate = 0.5})});
       }}};
  for (const auto& optimizer : optimizers) {
    CAPTURE(optimizer.first);
    const MakeOptimizer& make = optimizer.second;
    set_random_seed(5);
    Training here(make());
    const Trained expected = trained(
        here, 7,
        [](const Function& step, const Tensor& x, const Tensor& y) { return step(x, y).single(); });
    for (const int64_t shards : {1, 3}) {
      CAPTURE(shards);
      set_random_seed(5);
      Job job(1, 2);
      ParameterServerStrategy strategy(
          {.cluster = job.resolver(),
           .variable_partitioner = partitioners::FixedShardsPartitioner({.num_shards = shards})});
      ClusterCoordinator coordinator(strategy);
      const auto scope = strategy.scope();
      Training there(make());
      check_close(trained(there, 7,
                          [&](const Function& step, const Tensor& x, const Tensor& y) {
                            return coordinator.schedule(step, x, y).fetch().single();
                          }),
                  expected);
    }
  }
}

TEST_CASE("of tables only the rows that a step takes travel") {
  for (const int64_t shards : {1, 2, 3}) {
    CAPTURE(shards);
    const auto embedded = [](const Optimizer& optimizer, const auto& run) {
      const Variable table(ops::reshape(ops::arange(0.0, 200.0), {50, 4}) / 100.0f,
                           {.name = "table"});
      const Variable other(ops::ones({4}), {.name = "other"});
      const Function step = function([&](const Tensor& ids) {
        GradientTape tape;
        const Tensor taken = ops::take(table, ids, 0);
        const Tensor loss = ops::mean(ops::square(taken * other.value() - 0.5f));
        optimizer.apply_gradients(tape.gradient(loss, {table, other}), {table, other});
        return loss;
      });
      std::vector<float> results;
      for (int i = 0; i < 4; ++i) {
        const Tensor ids = Tensor::from<int32_t>({{0, 49, 17}, {17, -1, 30 + i}});
        results.push_back(run(step, ids).template item<float>());
      }
      const std::vector<float> values = table.to_vector<float>();
      results.insert(results.end(), values.begin(), values.end());
      CHECK(error_of([&] {
              run(step, Tensor::from<int32_t>({{0, 1, 2}, {3, 50, 4}}));
            }) ==
            "OutOfRange: take: index 50 is outside of [-50, 50), axis 0 of shape (50, 4). Negative "
            "indices count from the end.");
      return results;
    };
    const auto make = [] { return optimizers::Adagrad({.learning_rate = 0.1}); };
    const std::vector<float> expected = embedded(
        make(), [](const Function& step, const Tensor& ids) { return step(ids).single(); });
    Job job(1, 2);
    ParameterServerStrategy strategy(
        {.cluster = job.resolver(),
         .variable_partitioner = partitioners::FixedShardsPartitioner({.num_shards = shards})});
    ClusterCoordinator coordinator(strategy);
    const auto scope = strategy.scope();
    const std::vector<float> found = embedded(make(), [&](const Function& step, const Tensor& ids) {
      return coordinator.schedule(step, ids).fetch().single();
    });
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("a step is divided among a worker and servers") {
  const Variable table(ops::zeros({6, 2}), {.name = "table"});
  const Variable w(ops::zeros({2}), {.name = "w"});
  const Variable rate(Tensor(0.1f), {.name = "rate", .trainable = false});
  const TracedGraph traced = trace({{DType::Int32, {2}}}, [&](const std::vector<Tensor>& in) {
    const Tensor rows = ops::take(table, in[0], 0);
    const Tensor gradient = ops::sum(rows * w.value(), 0);
    const UpdateScope updates;
    w.assign(w.value() - rate.value() * gradient);
    table.assign_add(rate.value() * apply(OpRegistry::global().at("scatter_add"), {in[0], rows},
                                          {{"shape", table.shape().dims()}, {"axis", int64_t{0}}})
                                        .front());
    return std::vector<Tensor>{ops::sum(gradient)};
  });
  const DividedStep divided = divide_step(traced.graph, [&](const Variable& variable) {
    if (variable.id() == table.id()) return Placement{{0, {0, 3}}, {1, {3, 6}}};
    return Placement{{variable.id() == w.id() ? size_t{1} : size_t{0}, {0, 1}}};
  });
  CHECK(divided.worker.states.empty());
  REQUIRE(divided.read.size() == 2);  // w and rate
  REQUIRE(divided.taken.size() == 1);
  CHECK(divided.taken[0].variable.id() == table.id());
  CHECK(divided.ahead.outputs == divided.ahead.inputs);
  REQUIRE(divided.updates.size() == 2);
  // Server 0 gets row numbers and the rows; server 1 gets those, the rate, and the rate times the
  // gradient. Both select their rows before they multiply.
  for (const ServerUpdate& update : divided.updates) {
    size_t bytes = 0;
    for (const ValueId input : update.graph.inputs) bytes += update.graph.type(input).bytes();
    CHECK(bytes == (update.server == 0 ? 24 : 36));
    for (const Node& node : update.graph.nodes) {
      if (node.is("multiply")) CHECK(update.graph.type(node.outputs[0]).shape == Shape{3, 2});
    }
    CHECK(update.states.size() == 2);  // rows of the table, and the rate or w
    update.graph.validate();
  }
  divided.worker.validate();
}

TEST_CASE("workers go over their datasets, whose batches may differ in size") {
  Job job(2, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const auto scope = strategy.scope();
  const Variable seen(Tensor(0.0f), {.name = "seen", .trainable = false});
  const PerWorkerDataset dataset =
      coordinator.create_per_worker_dataset([](const InputContext& context) {
        return data::Dataset::range(20)
            .shard(context.num_input_pipelines, context.input_pipeline_id)
            .map([](const Tensor& x) { return ops::cast(x, DType::Float32); })
            .batch(4)
            .repeat();
      });
  const Function step = function([&](const Tensor& x) {
    seen.assign_add(ops::sum(x));
    return ops::sum(x) / static_cast<double>(x.dim(0));
  });
  for (int i = 0; i < 30; ++i) coordinator.schedule(step, dataset);
  coordinator.join();
  CHECK(seen.item<float>() > 0);
  // Exhausting a dataset is reported.
  const PerWorkerDataset once = coordinator.create_per_worker_dataset(
      [] { return data::Dataset::from_tensor_slices(ops::ones({4})).batch(4); });
  for (int i = 0; i < 3; ++i) coordinator.schedule(step, once);
  CHECK(error_of([&] {
          coordinator.join();
        }).find("OutOfRange: ClusterCoordinator: a worker's dataset has ended.") !=
        std::string::npos);
  coordinator.join();
}

TEST_CASE("what a step throws comes once, and ends those that wait") {
  Job job(1, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const Function step =
      function([](const Tensor& x, const Tensor& index) { return ops::take(x, index, 0); });
  const Tensor x = ops::ones({3});
  CHECK(coordinator.schedule(step, x, Tensor(2)).fetch().item<float>() == 1);
  const RemoteValue wrong = coordinator.schedule(step, x, Tensor(7));
  const std::string text = error_of([&] { wrong.fetch(); });
  CHECK(text.find("7") != std::string::npos);
  CHECK(text.starts_with("OutOfRange") + text.starts_with("InvalidArgument") == 1);
  CHECK(error_of([&] { coordinator.join(); }) == text);
  coordinator.join();
  CHECK(coordinator.schedule(step, x, Tensor(0)).fetch().item<float>() == 1);
}

TEST_CASE("a worker that dies is replaced, and its steps run elsewhere") {
  Job job(2, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const auto scope = strategy.scope();
  const Variable count(Tensor(int64_t{0}), {.name = "count", .trainable = false});
  const Function step = function([&](const Tensor& x) {
    count.assign_add(Tensor(int64_t{1}));
    return x + 1.0f;
  });
  std::vector<RemoteValue> results;
  const auto schedule = [&](int steps) {
    for (int i = 0; i < steps; ++i) results.push_back(coordinator.schedule(step, Tensor(float(i))));
  };
  schedule(20);
  job.stop({"worker", 0});
  schedule(20);
  coordinator.join();
  job.start({"worker", 0});
  job.stop({"worker", 1});
  schedule(20);
  coordinator.join();
  for (size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].fetch().item<float>() == static_cast<float>(i % 20) + 1);
  }
  CHECK(count.item<int64_t>() >= 60);
}

TEST_CASE("a parameter server that dies ends the job's steps") {
  Job job(1, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const auto scope = strategy.scope();
  const Variable w(Tensor(1.0f), {.name = "w"});
  const Function step = function([&] { return w.value() * 2.0f; });
  CHECK(coordinator.schedule(step).fetch().item<float>() == 2);
  job.stop({"ps", 0});
  const std::string lost =
      "Unavailable: Parameter server 0 is lost, and with it the values of the ";
  CHECK(error_of([&] { coordinator.schedule(step).fetch(); }).starts_with(lost));
  CHECK(error_of([&] { w.value(); }).starts_with(lost));
  job.start({"ps", 0});
  CHECK(error_of([&] { w.value(); }).find("Unavailable") == 0);
}

TEST_CASE("a scheduled step runs another one, and reduces what that gives") {
  Job job(1, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const Function on_replica = function([](const Tensor& x) { return ops::sum(x); });
  const Function step = function([&](const Tensor& x) {
    const PerReplica sums = strategy.run(on_replica, Tensors(x));
    return strategy.reduce(ReduceOp::Sum, sums) + strategy.reduce(ReduceOp::Mean, sums) +
           ops::sum(strategy.gather(PerReplica({Tensors(x)}), 0));
  });
  CHECK(coordinator.schedule(step, ops::ones({3})).fetch().item<float>() == 9);
}

TEST_CASE("strategies of one program follow each other, and leave nothing behind") {
  Job job(1, 1);
  std::optional<Variable> last;
  for (int i = 0; i < 3; ++i) {
    ParameterServerStrategy strategy({.cluster = job.resolver()});
    ClusterCoordinator coordinator(strategy);
    const auto scope = strategy.scope();
    const Variable w(Tensor(float(i)), {.name = "w"});
    const Function step = function([&] { return w.value() * 2.0f; });
    CHECK(coordinator.schedule(step).fetch().item<float>() == 2 * i);
    last = w;
  }
  CHECK(error_of([&] { last->value(); }).find("keeps nothing of this job any more") !=
        std::string::npos);
}

TEST_CASE("models fit, evaluate and predict under parameter servers") {
  set_random_seed(2);
  Job job(2, 2);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  const auto scope = strategy.scope();
  Sequential model(
      {layers::Dense({.units = 8, .activation = "relu"}), layers::Dense({.units = 3})});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.05}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const auto history =
      model.fit(pictures(), labels(), {.batch_size = 8, .epochs = 10, .verbose = 0});
  CHECK(history["loss"].back() < history["loss"].front());
  const auto scores = model.evaluate(pictures(), labels(), {.batch_size = 8, .verbose = 0});
  CHECK(scores["loss"] < history["loss"].front());
  CHECK(model.predict(pictures(), {.verbose = 0}).shape() == Shape{24, 3});
  // Evaluation is exact.
  Sequential here({layers::Dense({.units = 8, .activation = "relu"}), layers::Dense({.units = 3})});
  here.build({kUnknown, 6});
  std::vector<Tensor> weights;
  for (const Variable& weight : model.weights()) weights.push_back(weight.value());
  here.set_weights(weights);
  CHECK(ops::max(ops::abs(here.predict(pictures(), {.verbose = 0}) -
                          model.predict(pictures(), {.verbose = 0})))
            .item<float>() < 1e-6f);
  double right = 0;
  const Tensor guesses = ops::argmax(model.predict(pictures(), {.verbose = 0}).single(), -1);
  for (int64_t i = 0; i < 24; ++i) {
    right += guesses(i).item<int32_t>() == labels()(i).item<int32_t>();
  }
  CHECK(scores["accuracy"] == doctest::Approx(right / 24));
}

TEST_CASE("numbers of a step of one's own under parameter servers") {
  // Reports a number under the name of a tracker that it doesn't update.
  struct Own : Model {
    layers::Dense dense{{.units = 3}};
    Tensor call(const Tensor& x, const CallArgs& args) override { return dense(x, args); }
    NamedValues<Tensor> train_step(const Batch& data) override {
      GradientTape tape;
      const Tensor scores = dense(data.x, {.training = true});
      const Tensor loss = compute_loss(data.x, data.y, scores, data.sample_weight);
      optimizer().apply(tape.gradient(loss, trainable_variables()), trainable_variables());
      const auto results = compute_metrics(data.x, data.y, scores, data.sample_weight);
      return {{"loss", Tensor(2.5f)}, {"accuracy", results.at("accuracy")}};
    }
  };
  Job job(1, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  const auto scope = strategy.scope();
  Own model;
  model.compile({.optimizer = "sgd",
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const auto history = model.fit(pictures(), labels(), {.batch_size = 8, .verbose = 0});
  const auto scores = model.evaluate(pictures(), labels(), {.verbose = 0});
  CHECK(history["accuracy"][0] > 0);
  CHECK(scores["accuracy"] > 0);
  CHECK(history["loss"][0] == 2.5);
}

TEST_CASE("what replicas have kept apart becomes one value on a server") {
  Job job(1, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  const auto scope = strategy.scope();
  for (const auto aggregation : {VariableAggregation::Sum, VariableAggregation::Mean}) {
    const Variable variable(Tensor(0.0f), {.trainable = false,
                                           .synchronization = VariableSynchronization::OnRead,
                                           .aggregation = aggregation});
    variable.store_replicas({Tensor(1.0f), Tensor(2.0f), Tensor(6.0f)});
    CHECK(variable.item<float>() == (aggregation == VariableAggregation::Sum ? 9 : 3));
  }
}

TEST_CASE("a fit under parameter servers that fails says so once") {
  Job job(2, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  const auto scope = strategy.scope();
  Sequential model({layers::Embedding({.input_dim = 4, .output_dim = 2}), layers::Flatten(),
                    layers::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor wrong = ops::reshape(ops::arange(0, 32), {16, 2});
  const Tensor right = ops::mod(wrong, 4).host();
  const Tensor y = ops::zeros({16, 1});
  CHECK(error_of([&] { model.fit(wrong.host(), y, {.batch_size = 2, .verbose = 0}); }).find("4") !=
        std::string::npos);
  CHECK(model.fit(right, y, {.batch_size = 2, .verbose = 0})["loss"].size() == 1);
}

TEST_CASE("what callbacks get of each batch under parameter servers") {
  const test::Scratch folder;
  Job job(2, 1);
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  const auto scope = strategy.scope();
  Sequential model({layers::Dense({.units = 3})});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  const Tensor x = ops::ones({16, 2});
  const Tensor y = ops::zeros({16, 3});
  std::vector<Logs> logs;
  std::string beside;  // the error of an evaluation on another thread
  const auto on_batch = [&](int64_t, const Logs& of_batch) {
    logs.push_back(of_batch);
    if (!beside.empty()) return;
    std::thread([&] {
      const auto own = strategy.scope();
      beside = error_of([&] { model.evaluate(x, y, {.verbose = 0}); });
    }).join();
  };
  const callbacks::BackupAndRestore keeps({.backup_dir = folder.path("state"), .save_freq = 2});
  const callbacks::LambdaCallback looks({.on_train_batch_end = on_batch});
  model.fit(x, y, {.batch_size = 2, .verbose = 0, .callbacks = {looks, keeps}});
  REQUIRE(logs.size() == 8);
  for (const Logs& of_batch : logs) CHECK(of_batch.size() == 2);
  CHECK(beside.find(
            "ParameterServerStrategy: another thread computes this model's metrics, which the "
            "servers keep. Run fit and evaluate of one model one after the other.") !=
        std::string::npos);

  const auto empty = data::Dataset::from_tensor_slices({x, y}).take(0).batch(2);
  CHECK(error_of([&] { model.fit(empty, {.verbose = 0}); }).find("fit got no batches") !=
        std::string::npos);
}

TEST_CASE("a run under parameter servers is resumed") {
  const test::Scratch folder;
  const auto train = [&](int64_t epochs) {
    set_random_seed(7);
    Job job(1, 2);
    ParameterServerStrategy strategy({.cluster = job.resolver()});
    const auto scope = strategy.scope();
    Sequential model({layers::Dense({.units = 5}), layers::Dense({.units = 3})});
    model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.02}),
                   .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
    const auto history =
        model.fit(pictures(), labels(),
                  {.batch_size = 8,
                   .epochs = epochs,
                   .verbose = 0,
                   .callbacks = {callbacks::BackupAndRestore(
                       {.backup_dir = folder.path("state"), .delete_checkpoint = false})}});
    return history["loss"];
  };
  const auto first = train(2);
  const auto second = train(4);
  REQUIRE(second.size() == 4);
  CHECK(second[0] == first[0]);
  CHECK(second[1] == first[1]);
  CHECK(second[3] < second[1]);
}

TEST_CASE("partitioners divide by size") {
  using namespace partitioners;
  CHECK(FixedShardsPartitioner({.num_shards = 4})({8, 2}, DType::Float32) == 4);
  const Partitioner least = MinSizePartitioner({.min_shard_bytes = 32, .max_shards = 3});
  CHECK(least({4}, DType::Float32) == 1);
  CHECK(least({16}, DType::Float32) == 2);
  CHECK(least({1600}, DType::Float32) == 3);
  const Partitioner most = MaxSizePartitioner({.max_shard_bytes = 32});
  CHECK(most({8}, DType::Float32) == 1);
  CHECK(most({9}, DType::Float32) == 2);
  CHECK(most({3, 100}, DType::Float32) == 3);
  CHECK(most({}, DType::Float32) == 1);
  CHECK(error_of([] { FixedShardsPartitioner({.num_shards = 0}); }) ==
        "InvalidArgument: FixedShardsPartitioner: expected num_shards of at least 1, got 0.");
}
