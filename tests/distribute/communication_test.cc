// SPDX-License-Identifier: Apache-2.0
// The effects of MultiWorkerMirroredStrategy's CommunicationOptions: in several processes together
// (on_workers.py), whose strategies follow one another. Invalid options, in one process.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "distribute/collectives/collectives.h"
#include "tests/distribute/models.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::distribute;
using test::distance;
using test::error_of;
using testing::contains;

namespace {

Strategy strategy_with(const CommunicationOptions& options) {
  return MultiWorkerMirroredStrategy({.communication_options = options});
}

constexpr int kSteps = 2 * 3;
constexpr int kVariables = 6;

std::vector<Tensor> train(const Strategy& strategy) {
  const auto scope = strategy.scope();
  Sequential model({Input({.shape = {3}, .dtype = DType::Float64}),
                    layers::Dense({.units = 5, .activation = "tanh", .dtype = "float64"}),
                    layers::Dense({.units = 4, .activation = "tanh", .dtype = "float64"}),
                    layers::Dense({.units = 1, .dtype = "float64"})});
  int64_t seed = 1;
  for (const Variable& weight : model.weights()) {
    weight.assign(random::normal(weight.shape(), {.dtype = DType::Float64, .seed = seed++}));
  }
  CHECK(model.weights().size() == kVariables);
  model.compile(
      {.optimizer = optimizers::SGD({.learning_rate = 0.05, .momentum = 0.9}), .loss = "mse"});
  const Tensor x = random::normal({17, 3}, {.dtype = DType::Float64, .seed = 20});
  const Tensor y = random::normal({17, 1}, {.dtype = DType::Float64, .seed = 21});
  model.fit(x, y, {.batch_size = 6, .epochs = 2, .verbose = 0, .shuffle = false});
  return model.get_weights();
}

std::vector<Tensor> on_one_device() { return train(OneDeviceStrategy("CPU:0")); }

// RingCollectives that count the reductions.
class Counting : public Collectives {
 public:
  Counting(Transport& transport, const CollectivesOptions& options)
      : inner_(ring_communication().make(transport, options)) {}

  void all_reduce(const CollectiveCall& what, std::span<const Segment> segments,
                  int64_t divisor) override {
    ++reductions;
    inner_->all_reduce(what, segments, divisor);
  }
  void reduce_scatter(const CollectiveCall& what, const void* in, void* out, int64_t count_per_rank,
                      int64_t divisor) override {
    inner_->reduce_scatter(what, in, out, count_per_rank, divisor);
  }
  void all_gather(const CollectiveCall& what, const void* in, void* out,
                  size_t bytes_per_rank) override {
    inner_->all_gather(what, in, out, bytes_per_rank);
  }
  void broadcast(const CollectiveCall& what, void* data, size_t bytes, int root) override {
    inner_->broadcast(what, data, bytes, root);
  }
  void barrier(const CollectiveCall& what) override { inner_->barrier(what); }

  static std::atomic<int> reductions;

 private:
  std::unique_ptr<Collectives> inner_;
};

std::atomic<int> Counting::reductions = 0;

CommunicationImplementation counting() {
  static const bool registered = [] {
    register_communication("counting",
                           {.make =
                                [](Transport& transport, const CollectivesOptions& how) {
                                  return std::make_unique<Counting>(transport, how);
                                },
                            .peers = ring_communication().peers});
    return true;
  }();
  static_cast<void>(registered);
  return CommunicationImplementation("counting");
}

// The contribution of replica `id`: numbers that 16 bits can't represent.
Tensor gradient_of(int64_t id, DType dtype) {
  return random::normal({64}, {.dtype = dtype, .seed = 30 + id});
}

// The sum over all replicas, as an optimizer applies it to a variable of zeros.
Tensor summed_gradients(const CommunicationOptions& options, DType dtype) {
  const Strategy strategy = strategy_with(options);
  const auto scope = strategy.scope();
  const Variable w(ops::zeros({64}, dtype), {.name = "w"});
  const optimizers::SGD optimizer({.learning_rate = 1.0});
  const Function step = function([&](const Tensor& own) {
    GradientTape tape;
    const Tensor loss = ops::sum(own * w);
    optimizer.apply_gradients({tape.gradient(loss, w)}, {w});
  });
  strategy.run(step, strategy.distribute_values_from_function([&](const ValueContext& context) {
    return Tensors(gradient_of(context.replica_id_in_sync_group, dtype));
  }));
  return -w.value();
}

Tensor rounded(const Tensor& tensor, DType dtype) {
  return ops::cast(ops::cast(tensor, dtype), DType::Float32);
}

}  // namespace

TEST_CASE("an implementation of the program's own carries a strategy's tensors" *
          doctest::skip(test::is_alone())) {
  const std::vector<Tensor> expected = on_one_device();
  Counting::reductions = 0;
  CHECK(distance(train(strategy_with({.implementation = counting()})), expected) < 1e-9);
  CHECK(Counting::reductions >= kSteps);
}

TEST_CASE("gradients travel in packs of bytes_per_pack" * doctest::skip(test::is_alone())) {
  const std::vector<Tensor> expected = on_one_device();
  const auto reductions = [&](int64_t bytes) {
    Counting::reductions = 0;
    const Strategy strategy =
        strategy_with({.implementation = counting(), .bytes_per_pack = bytes});
    CHECK(distance(train(strategy), expected) < 1e-9);
    return Counting::reductions.load();
  };
  const int by_default = reductions(0);  // all gradients of this small model fit in one pack
  CHECK(reductions(1 << 20) == by_default);
  CHECK(reductions(1) == by_default + (kVariables - 1) * kSteps);
}

TEST_CASE("NCCL connects GPUs, and is a warning, and RING, elsewhere" *
          doctest::skip(test::is_alone())) {
  const std::vector<Tensor> expected = on_one_device();
  const bool on_gpus = default_device().type == DeviceType::Gpu;
  const auto log_of = [&](const CommunicationImplementation& implementation) {
    const test::Log log;
    const Strategy strategy = strategy_with({.implementation = implementation});
    CHECK(distance(train(strategy), expected) < 1e-9);
    return log.text();
  };
  const std::string connected = "The GPUs of 2 processes communicate by Simulated collectives 1.";
  const std::string refused =
      "MultiWorkerMirroredStrategy: NCCL was asked for, but not all replicas are on GPUs: replicas "
      "exchange tensors by RING, through the hosts' memory.";
  const std::string asked = log_of(CommunicationImplementation::Nccl);
  CHECK(contains(asked, connected) == on_gpus);
  CHECK(contains(asked, refused) == !on_gpus);
  CHECK(contains(log_of(CommunicationImplementation::Auto), connected) == on_gpus);
  CHECK(!contains(log_of(CommunicationImplementation::Ring), connected));
}

TEST_CASE("a worker alone may well use NCCL: nobody is warned" * doctest::skip(!test::is_alone())) {
  const test::Log log;
  const Strategy strategy = strategy_with({.implementation = CommunicationImplementation::Nccl});
  CHECK(strategy.num_replicas_in_sync() >= 1);
  CHECK(!contains(log.text(), "NCCL"));
}

TEST_CASE("compression rounds float32 gradients, and no others" * doctest::skip(test::is_alone())) {
  const Tensor first = gradient_of(0, DType::Float32);
  const Tensor second = gradient_of(1, DType::Float32);
  CHECK(distance({summed_gradients({}, DType::Float32)}, {first + second}) == 0);
  for (const DType dtype : {DType::BFloat16, DType::Float16}) {
    CAPTURE(dtype);
    const Tensor sum = summed_gradients({.compression = dtype}, DType::Float32);
    CHECK(distance({sum}, {rounded(rounded(first, dtype) + rounded(second, dtype), dtype)}) == 0);
    CHECK(distance({sum}, {first + second}) > 0);
    CHECK(distance({summed_gradients({.compression = dtype}, DType::Float64)},
                   {gradient_of(0, DType::Float64) + gradient_of(1, DType::Float64)}) == 0);
  }
}

TEST_CASE("who keeps the others waiting longer than timeout_seconds ends the job" *
          doctest::skip(test::is_alone())) {
  const testing::TempFolder own_folder;
  const Strategy strategy = strategy_with({.timeout_seconds = 0.1});
  const auto waits = strategy.impl().exchange("folder", own_folder.path().string()).back();
  const std::string over = waits + "/over";
  const auto reduced = [&] {
    return error_of(
        [&] { strategy.reduce(ReduceOp::Sum, PerReplica({Tensors(Tensor::scalar(1.0))})); });
  };
  if (strategy.is_chief()) {
    const std::string text = reduced();
    CHECK(
        text.starts_with("DeadlineExceeded: Collective: worker 0 waited 0.1 s for worker 1 (127."));
    CHECK(contains(text, "CommunicationOptions' timeout_seconds says how long to wait."));
    testing::write_file(over, "");
  } else {
    while (!std::filesystem::exists(over)) std::this_thread::yield();
    const std::string text = reduced();
    CHECK(text.starts_with("Aborted: Cluster: worker 0 (127."));
    CHECK(contains(text, "has stopped: Collective: worker 0 waited 0.1 s for worker 1"));
  }
}

TEST_CASE("options that can't be") {
  const auto error_with = [](const CommunicationOptions& options) {
    return error_of([&] { strategy_with(options); });
  };
  for (const auto& [seconds, text] : {std::pair{0.0, "0"},
                                      {-1.5, "-1.5"},
                                      {2e6, "2000000"},
                                      {std::nan(""), "nan"},
                                      {HUGE_VAL, "inf"}}) {
    CHECK(error_with({.timeout_seconds = seconds}) ==
          fmt::format("InvalidArgument: CommunicationOptions: expected timeout_seconds of more "
                      "than 0 and at most a million, got {}.",
                      text));
  }
  CHECK(error_with({.bytes_per_pack = -1}) ==
        "InvalidArgument: CommunicationOptions: expected bytes_per_pack of 0 (chosen) or more, got "
        "-1.");
  CHECK(error_with({.compression = DType::Float64}) ==
        "InvalidArgument: CommunicationOptions: expected compression to float16 or bfloat16, got "
        "float64.");
  CHECK(error_with({.implementation = CommunicationImplementation("RNIG")})
            .starts_with("InvalidArgument: Unknown communication implementation 'RNIG'."));
}

TEST_CASE("times to wait for the others that can't be") {
  CHECK(error_of([] { MultiWorkerMirroredStrategy({.join_timeout_seconds = 0.0}); }) ==
        "InvalidArgument: MultiWorkerMirroredStrategyOptions: expected join_timeout_seconds of "
        "more than 0 and at most a million, got 0.");
  ::setenv("CORNU_JOIN_TIMEOUT", "soon", 1);
  CHECK(error_of([] { MultiWorkerMirroredStrategy(); }) ==
        "InvalidArgument: MultiWorkerMirroredStrategy: expected a number from 1 to 1000000 in the "
        "environment variable CORNU_JOIN_TIMEOUT, got 'soon'.");
  ::unsetenv("CORNU_JOIN_TIMEOUT");
}
