// SPDX-License-Identifier: Apache-2.0
// The default strategy, OneDevice, scopes, and the replica context with one replica.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "framework/graph/dispatch.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using distribute::get_replica_context;
using distribute::OneDeviceStrategy;
using distribute::PerReplica;
using test::error_of;

namespace {

const Tensor kNumbers = Tensor::from(std::vector<float>{1, 2, 3});

Function doubled() {
  return function([](const Tensor& x) { return x * 2; }, {.name = "doubled"});
}

// Checks what every strategy with one replica does.
void check_single_replica(const Strategy& strategy) {
  CHECK(strategy.num_replicas_in_sync() == 1);
  CHECK(strategy.is_chief());
  CHECK(strategy.impl().devices().size() == 1);

  const Function step = doubled();
  const PerReplica same = strategy.run(step, Tensors(kNumbers));
  REQUIRE(same.size() == 1);
  CHECK(same[0].single().to_vector<float>() == std::vector<float>{2, 4, 6});
  const PerReplica own = strategy.run(step, PerReplica({Tensors(kNumbers)}));
  CHECK(own[0].single().to_vector<float>() == std::vector<float>{2, 4, 6});
  CHECK(step.trace_count() == 1);
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Min, ReduceOp::Max}) {
    CHECK(strategy.reduce(op, own).id() == own[0].single().id());
  }
  CHECK(strategy.local_results(own).size() == 1);

  const std::vector<Batch> parts =
      strategy.impl().split({.x = kNumbers, .y = {}, .sample_weight = {}});
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].x.single().id() == kNumbers.id());
  CHECK(parts[0].y.empty());
  CHECK(parts[0].sample_weight.empty());
  CHECK(strategy.impl().distribute(nullptr) == nullptr);
}

// One of several workers, but not the chief, which writes files.
class Worker : public StrategyImpl {
 public:
  std::string name() const override { return "Worker"; }
  int64_t num_replicas_in_sync() const override { return 1; }
  std::vector<Device> devices() const override { return one_->devices(); }
  std::vector<Tensors> run(const Function& step,
                           const std::vector<std::vector<Tensors>>& arguments) override {
    return one_->run(step, arguments);
  }
  std::shared_ptr<BatchSource> distribute(std::shared_ptr<BatchSource> source) override {
    return source;
  }
  std::vector<Batch> split(const Batch& batch) override { return {batch}; }
  Tensor reduce(ReduceOp op, const std::vector<Tensor>& values, const std::string& call) override {
    return one_->reduce(op, values, call);
  }
  bool is_chief() const override { return false; }

 private:
  std::shared_ptr<StrategyImpl> one_ = make_single_device_strategy(Device{}, "one");
};

// Records the strategy of the scope in which get_config() is called, as save() does.
class Noting : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override { return x; }
  Json get_config() const override {
    seen = get_strategy().name();
    return Layer::get_config();
  }
  static inline std::string seen;
};

}  // namespace

TEST_CASE(
    "a model's runs and files are in the scope of its strategy, wherever they are asked for") {
  const test::Scratch scratch;
  const Strategy worker(std::make_shared<Worker>());
  const Tensor x = ops::ones({4, 1});
  for (const bool made_inside : {true, false}) {
    CAPTURE(made_inside);
    auto make = [] { return Sequential({layers::Dense({.units = 1}), make_layer<Noting>()}); };
    const CompileOptions options = {.optimizer = "sgd", .loss = "mse"};
    std::optional<Sequential> model;
    {
      std::optional<StrategyScope> scope;
      if (made_inside) scope.emplace(worker.shared());
      model.emplace(make());
    }
    {
      std::optional<StrategyScope> scope;
      if (!made_inside) scope.emplace(worker.shared());
      model->compile(options);
    }
    std::vector<std::string> seen;
    const auto note = [&](const Logs&) { seen.push_back(get_strategy().name()); };
    const callbacks::LambdaCallback noting(
        {.on_train_begin = note, .on_test_begin = note, .on_predict_begin = note});
    const std::string file = scratch.path("best.weights.h5");
    const std::string csv = scratch.path("log.csv");
    const callbacks::TensorBoard board({.log_dir = scratch.path("logs"), .histogram_freq = 1});
    model->fit(
        x, x,
        {.verbose = 0,
         .callbacks = {noting,
                       callbacks::ModelCheckpoint({.filepath = file, .save_weights_only = true}),
                       callbacks::CSVLogger({.filename = csv}), board},
         .validation_data = {x, x}});
    CHECK_FALSE(std::filesystem::exists(file));
    CHECK_FALSE(std::filesystem::exists(csv));
    model->evaluate(x, x, {.verbose = 0, .callbacks = {noting, board}});
    CHECK_FALSE(std::filesystem::exists(scratch.path("logs")));
    std::thread([&] { model->predict(x, {.verbose = 0, .callbacks = {noting}}); }).join();
    CHECK(seen == std::vector<std::string>(4, "Worker"));
    Noting::seen.clear();
    model->save(scratch.path("model.keras"));
    CHECK(Noting::seen == "Worker");
    CHECK_FALSE(has_strategy());
  }
}

TEST_CASE("a model made in one scope isn't compiled in another") {
  const OneDeviceStrategy first("CPU:0");
  const auto outer = first.scope();
  Sequential model({layers::Dense({.units = 1})});
  model.compile({.loss = "mse"});
  const Strategy second(std::make_shared<Worker>());
  const StrategyScope inner(second.shared());
  CHECK(error_of([&] { model.compile({.loss = "mse"}); }) ==
        "FailedPrecondition: Sequential '" + model.name() +
            "' was created in the scope of strategy 'OneDeviceStrategy', but compiled in the scope "
            "of 'Worker'. Create and compile a model in the same scope.");
}

TEST_CASE("a strategy that was moved from says so") {
  Strategy strategy = get_strategy();
  const Strategy other = std::move(strategy);
  const char* expected = "FailedPrecondition: Strategy: expected a strategy, got none.";
  const Function step = function([](const Tensor& x) { return x; });
  CHECK(error_of([&] { strategy.num_replicas_in_sync(); }) == expected);
  CHECK(error_of([&] { strategy.name(); }) == expected);
  CHECK(error_of([&] { strategy.is_chief(); }) == expected);
  CHECK(error_of([&] { const auto scope = strategy.scope(); }) == expected);
  CHECK(error_of([&] { strategy.run(step, Tensors(ops::zeros({2}))); }) == expected);
  CHECK(error_of([&] { strategy.impl(); }) == expected);
  CHECK(other.num_replicas_in_sync() == 1);
}

TEST_CASE("the default strategy") {
  CHECK_FALSE(has_strategy());
  const Strategy strategy = get_strategy();
  CHECK(strategy.name() == "default");
  CHECK(strategy.impl().devices()[0] == Device{});
  check_single_replica(strategy);
  CHECK(get_strategy().shared() == strategy.shared());
}

TEST_CASE("the default strategy of a device lives as long as the program") {
  const DeviceScope scope("CPU:1");
  const StrategyImpl& first = get_strategy().impl();
  CHECK(&get_strategy().impl() == &first);
  const Device second{DeviceType::Cpu, 1};
  CHECK(first.devices()[0] == second);
  {
    const DeviceScope other("CPU:2");
    CHECK(&get_strategy().impl() != &first);
  }
  CHECK(&get_strategy().impl() == &first);
}

TEST_CASE("OneDeviceStrategy runs steps on its device") {
  const OneDeviceStrategy strategy("cpu:1");
  CHECK(strategy.name() == "OneDeviceStrategy");
  const Device second{DeviceType::Cpu, 1};
  CHECK(strategy.impl().devices()[0] == second);
  check_single_replica(strategy);

  Device seen;
  bool fails = false;
  const Function step = function(
      [&](const Tensor& x) {
        seen = default_device();
        check<FailedPrecondition>(!fails, "on purpose");
        return x;
      },
      {.run_eagerly = true});
  strategy.run(step, Tensors(kNumbers));
  CHECK(seen == second);
  CHECK(default_device() == Device{});
  fails = true;
  CHECK_THROWS_AS(strategy.run(step, Tensors(kNumbers)), FailedPrecondition);
  CHECK(default_device() == Device{});
}

TEST_CASE("devices that OneDeviceStrategy can't have") {
  if (!config::why_unavailable(DeviceType::Tpu).empty()) {
    CHECK(error_of([] {
            OneDeviceStrategy("TPU:0");
          }).starts_with("FailedPrecondition: Device TPU:0: no PJRT plugin can be used; "));
  }
  for (const char* text : {"", "X", "CPU:", "CPU:-1", "CPU:one", "CPU:1 ", "CPU:99999999999"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(OneDeviceStrategy{text}, InvalidArgument);
  }
}

TEST_CASE("run wants arguments for every local replica") {
  const Strategy strategy = get_strategy();
  CHECK(error_of([&] {
          strategy.run(doubled(), PerReplica({Tensors(kNumbers), Tensors(kNumbers)}));
        }) ==
        "InvalidArgument: Strategy 'default': expected arguments for 1 local replicas, got 2.");
  CHECK_THROWS_AS(strategy.run(doubled(), PerReplica()), InvalidArgument);
}

TEST_CASE("scopes nest, on one thread, and end with an error too") {
  const OneDeviceStrategy outer("CPU:0");
  const OneDeviceStrategy inner("CPU:1");
  {
    const auto first = outer.scope();
    CHECK(has_strategy());
    CHECK(get_strategy().shared() == outer.shared());
    {
      const auto second = outer.scope();
      CHECK(get_strategy().shared() == outer.shared());
    }
    CHECK(get_strategy().shared() == outer.shared());
    CHECK(error_of([&] { const auto second = inner.scope(); }) ==
          "FailedPrecondition: Strategy 'OneDeviceStrategy': its scope was opened in that of "
          "another strategy, 'OneDeviceStrategy', which has the same name, but was made by "
          "itself. End that one first: what is made in a scope "
          "belongs to one strategy.");
    CHECK(get_strategy().shared() == outer.shared());
    try {
      const StrategyScope second(inner.shared());
      CHECK(get_strategy().shared() == inner.shared());
      raise<Internal>("on purpose");
    } catch (const Internal&) {
      CHECK(get_strategy().shared() == outer.shared());
    }
    bool elsewhere = true;
    std::thread([&] { elsewhere = has_strategy(); }).join();
    CHECK_FALSE(elsewhere);
  }
  CHECK_FALSE(has_strategy());
  CHECK(get_strategy().name() == "default");
}

TEST_CASE("a scope keeps its strategy alive") {
  std::weak_ptr<StrategyImpl> watched;
  {
    auto strategy = std::make_unique<OneDeviceStrategy>("CPU:0");
    watched = strategy->shared();
    const auto scope = strategy->scope();
    strategy.reset();
    CHECK(get_strategy().name() == "OneDeviceStrategy");
  }
  CHECK(watched.expired());
}

TEST_CASE("the replica context of one replica") {
  CHECK(get_replica_context().num_replicas_in_sync() == 1);
  CHECK(get_replica_context().all_reduce(ReduceOp::Sum, kNumbers).id() == kNumbers.id());
  int64_t inside = 0;
  const Function step = function([&](const Tensor& x) {
    inside = get_replica_context().num_replicas_in_sync();
    return get_replica_context().all_reduce(ReduceOp::Mean, x);
  });
  get_strategy().run(step, Tensors(kNumbers));
  CHECK(inside == 1);
  CHECK(step.compiled({kNumbers})->graph.nodes.empty());
}

TEST_CASE(
    "a step of one replica is a replica's, and knows its strategy, in the scope and outside") {
  const OneDeviceStrategy strategy("CPU:0");
  bool is_cross_replica = true;
  std::string in_step;
  std::string in_merge;
  const auto run = [&] {
    const Function step = function([&](const Tensor& x) {
      is_cross_replica = distribute::in_cross_replica_context();
      in_step = get_strategy().name();
      return get_replica_context().merge_call(
          [&](const Strategy& given, const PerReplica& values) -> Tensors {
            CHECK(distribute::in_cross_replica_context());
            in_merge = given.name();
            return given.reduce(ReduceOp::Sum, values);
          },
          x);
    });
    CHECK(strategy.run(step, Tensors(kNumbers))[0].single().shape() == kNumbers.shape());
    CHECK_FALSE(is_cross_replica);
    CHECK(in_step == "OneDeviceStrategy");
    CHECK(in_merge == "OneDeviceStrategy");
  };
  run();
  const auto scope = strategy.scope();
  CHECK(distribute::in_cross_replica_context());
  run();
  const Function opens = function([&](const Tensor& x) {
    const auto inner = strategy.scope();
    return x;
  });
  CHECK(error_of([&] { strategy.run(opens, Tensors(kNumbers)); })
            .find("Strategy 'OneDeviceStrategy': its scope was opened within a step that replicas "
                  "run. Open it outside.") != std::string::npos);
}

TEST_CASE("what a step of the default strategy makes is nobody's") {
  std::optional<Variable> made;
  const Function step = function([&](const Tensor& x) {
    if (!made) made.emplace(kNumbers, VariableOptions{.name = "made"});
    CHECK_FALSE(has_strategy());
    return x;
  });
  get_strategy().run(step, Tensors(kNumbers));
  CHECK(made->owner() == 0);
}

TEST_CASE("an input function is told its share of the batch") {
  const distribute::InputContext context{.num_input_pipelines = 1, .num_replicas_in_sync = 4};
  CHECK(context.get_per_replica_batch_size(64) == 16);
  CHECK(error_of([&] { context.get_per_replica_batch_size(30); }) ==
        "InvalidArgument: InputContext: expected a global batch size divisible by 4 replicas, got "
        "30.");
}
