// SPDX-License-Identifier: Apache-2.0
// Memory, streams and programs of the CUDA backend, on simulated GPUs.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/backends/cuda/memory_pool.h"
#include "framework/graph/backend.h"
#include "framework/strategy/in_process_group.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/cuda/on_gpu.h"
#include "tests/support/cuda/simulator.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using namespace cornu::cuda::testing;
using test::error_of;

TEST_CASE("tensors travel to GPUs, between them, and back") {
  const Tensor small = on(kFirst, {1, 2.5f, 3});
  CHECK(small.device() == kFirst);
  CHECK(values(small) == std::vector<float>{1, 2.5f, 3});
  CHECK(values(small.to(kSecond)) == std::vector<float>{1, 2.5f, 3});
  CHECK(values(small.rows(1, 3) * 2.0f) == std::vector<float>{5, 6});
  const std::vector<float> many = numbers(100'000);  // through page-locked memory
  const Tensor large = on(kFirst, many);
  CHECK(values(large) == many);
  CHECK(values(large.to(kSecond).to(kFirst)) == many);
  CHECK(values(on(kFirst, {})).empty());
}

TEST_CASE("kernels read and write variables that got rows of a tensor") {
  const Tensor x = ops::reshape(on(kFirst, numbers(35)), {7, 5});
  const DeviceScope scope(kFirst);
  const Variable read(ops::zeros({1, 5}), {.name = "read"});
  const Variable written(x.rows(2, 3), {.name = "written"});
  read.assign(x.rows(1, 2));
  const Function step = function([&](const Tensor& y) {
    written.assign_add(ops::square(read) * y);
    return ops::sum(written * 2.0f);
  });
  CHECK(step(ops::ones({1, 5})).item<float>() == 2 * (60 + 255));
  CHECK(values(written) == std::vector<float>{35, 47, 61, 77, 95});
  CHECK(values(x.rows(2, 3)) == std::vector<float>{10, 11, 12, 13, 14});
}

TEST_CASE("a GPU alone needs no library that connects it with others") {
  use_simulated_gpus();
  auto group = make_in_process_group(1);
  const CollectiveGroup* const end = group.front().get();
  const auto connected = backend_for(kFirst).connect(std::vector{kFirst}, std::move(group));
  REQUIRE(connected.size() == 1);
  CHECK(connected.front().get() == end);
}

TEST_CASE("uploads reuse memory only when its last use is over") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  std::vector<Tensor> sums;
  for (int k = 0; k < 8; ++k) {
    const std::vector<float> many(40'000, static_cast<float>(k));
    sums.push_back(ops::sum(Tensor::from(many).to(kFirst)));
  }
  for (int k = 0; k < 8; ++k) CHECK(sums[static_cast<size_t>(k)].item<float>() == 40'000.0f * k);
}

TEST_CASE("a captured function gives what it gave before it was captured") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  Variable total(Tensor::from<float>({0, 0, 0}), {.name = "total"});
  const Function add = function([&](const Tensor& x) {
    total.assign_add(x * 2.0f);
    return ops::sum(x) + ops::sum(Tensor(total));
  });
  float expected = 0;
  for (int step = 1; step <= 6; ++step) {
    const auto number = static_cast<float>(step);
    expected += 6 * number;
    CHECK(add(Tensor::from<float>({number, number, number})).item<float>() ==
          doctest::Approx(3 * number + expected));
    // Because a value is held, the next step writes to other memory.
    if (step == 3) CHECK(values(Tensor(total))[0] == 12);
  }
  CHECK(values(Tensor(total)) == std::vector<float>{42, 42, 42});
}

TEST_CASE("neighbours in memory that isn't one block are inputs of a captured function") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  const Function add = function([](const Tensor& x, const Tensor& y) { return ops::sum(x + y); });
  // Each tensor fills a block of its own, and the second block begins where the first ends.
  constexpr int64_t kCount = 196'608;
  const Tensor x = Tensor::from(std::vector<float>(kCount, 1.0f)).to(kFirst);
  const Tensor y = Tensor::from(std::vector<float>(kCount, 2.0f)).to(kFirst);
  REQUIRE(x.address() + x.bytes() == y.address());
  for (int run = 0; run < 3; ++run) CHECK(add(x, y).item<float>() == 3.0f * kCount);
}

TEST_CASE("a variable that was assigned a function's result is read as it is now") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  Variable total(Tensor::from<float>({0, 0}), {.name = "total"});
  const Function twice = function([](const Tensor& x) { return x * 2.0f; });
  const Function add = function([&](const Tensor& x) { total.assign_add(x); });
  total.assign(twice(Tensor::from<float>({1, 2})));
  const Tensor ones = Tensor::from<float>({1, 1}).to(kFirst);
  for (int step = 1; step <= 3; ++step) {
    add(ones);
    CHECK(values(Tensor(total)) == std::vector<float>{2.0f + step, 4.0f + step});
  }
}

TEST_CASE("a group of updates doesn't write over what another of its members reads") {
  use_simulated_gpus();
  const auto run = [](const Device& device) {
    const DeviceScope scope(device.to_string());
    Variable a(Tensor::from<float>({1, 2, 3, 4}), {.name = "a"});
    Variable b(Tensor::from<float>({5, 7, 9, 11}, {2, 2}), {.name = "b"});
    // Each update needs both previous values, so neither variable is updated in place.
    const Function update = function([&](const Tensor& x) {
      const Tensor shared = ops::matmul(x, x);
      const Tensor next_a = (Tensor(a) - ops::reshape(Tensor(b), {4})) * ops::reshape(shared, {4});
      const Tensor next_b = (Tensor(b) - ops::reshape(Tensor(a), {2, 2})) * shared;
      a.assign(next_a);
      b.assign(next_b);
    });
    for (int step = 0; step < 3; ++step) update(Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
    std::vector<float> all = values(Tensor(a));
    for (const float value : values(Tensor(b))) all.push_back(value);
    return all;
  };
  CHECK(run(kFirst) == run(Device{}));
}

TEST_CASE("slices of a loop that lie at odd places") {
  use_simulated_gpus();
  using Inputs = std::vector<Tensor>;
  const auto running = [](const Tensor& x) {
    const auto [carries, ys] = ops::scan(
        [](const Inputs& carry, const Inputs& row) {
          const Tensor next = carry[0] + row[0];
          return std::pair<Inputs, Inputs>{{next}, {next * 10.0f}};
        },
        Inputs{ops::zeros({3})}, Inputs{x});
    return ys[0];
  };
  const std::vector<float> rows = numbers(15);
  const Tensor x = Tensor::from(rows, {5, 3});
  const Tensor expected = running(x);
  CHECK(values(running(x.to(kFirst))) == values(expected));
  const DeviceScope scope("GPU:0");
  const Function compiled = function(running);
  for (int i = 0; i < 3; ++i) CHECK(values(compiled(x)) == values(expected));
}

TEST_CASE("control flow that depends on values") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  using Inputs = std::vector<Tensor>;
  const Function halve = function([](const Tensor& x) {
    return ops::while_loop([](const Inputs& y) { return ops::sum(y[0]) > 1.0f; },
                           [](const Inputs& y) { return Inputs{y[0] * 0.5f}; }, Inputs{x})[0];
  });
  for (int i = 0; i < 3; ++i) CHECK(values(halve(Tensor::from<float>({8, 8})))[0] == 0.5f);
  const Function choose = function([](const Tensor& x) {
    return ops::cond(
        ops::greater(ops::sum(x), 0.0f), [&] { return x + 1.0f; }, [&] { return x - 1.0f; });
  });
  CHECK(choose(Tensor::from<float>({3})).item<float>() == 4);
  CHECK(choose(Tensor::from<float>({-3})).item<float>() == -4);
}

TEST_CASE("what kernels refuse is thrown, and poisons what was written since") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  const Tensor table = Tensor::from<float>({1, 2, 3}).to(kFirst);
  CHECK_THROWS_AS(ops::take(table, Tensor::from<int32_t>({7}).to(kFirst), 0), OutOfRange);
  CHECK(values(ops::take(table, Tensor::from<int32_t>({2}).to(kFirst), 0))[0] == 3);
  Variable chosen(Tensor::from<float>({0}), {.name = "chosen"});
  const Function choose = function([&](const Tensor& index) {
    chosen.assign(ops::take(table, index, 0));
    return ops::sum(Tensor(chosen));
  });
  CHECK(choose(Tensor::from<int32_t>({1})).item<float>() == 2);
  const Tensor wrong = choose(Tensor::from<int32_t>({5}));
  CHECK_THROWS_AS(wrong.item<float>(), OutOfRange);
  CHECK(error_of([&] {
          Tensor(chosen).item<float>();
        }).find("a kernel has refused what it was given") != std::string::npos);
  chosen.assign(Tensor::from<float>({4}));
  CHECK(choose(Tensor::from<int32_t>({0})).item<float>() == 1);
}

TEST_CASE("a variable that is given another value since kernels have refused something is right") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  const Tensor table = Tensor::from<float>({1, 2, 3}).to(kFirst);
  const auto named = [](const char* name) {
    return Variable(Tensor::from<float>({0}), {.name = name});
  };
  const Variable restored = named("restored"), made = named("made"), summed = named("summed"),
                 later = named("later");
  const std::vector<Variable> all = {restored, made, summed, later};
  const Function choose = function([&](const Tensor& index) {
    for (const Variable& variable : all) variable.assign(ops::take(table, index, 0));
  });
  const Function add = function([&](const Tensor& x) { later.assign_add(x); });
  const Function twice = function([](const Tensor& x) { return x * 2.0f; });
  const auto is_poisoned = [](const Variable& variable) {
    return error_of([&] { variable.value(); }).find("has refused what it was given") !=
           std::string::npos;
  };
  choose(Tensor::from<int32_t>({7}));
  restored.assign(Tensor::from<float>({4}));
  made.assign(twice(Tensor::from<float>({3})) + 1.0f);
  summed.assign_add(Tensor::from<float>({5}));
  later.assign(Tensor::from<float>({6}));
  cuda::gpu_device(0).drain();
  CHECK_THROWS_AS(choose(Tensor::from<int32_t>({0})), OutOfRange);
  CHECK(restored.item<float>() == 4);
  CHECK(made.item<float>() == 7);
  CHECK(is_poisoned(summed));
  CHECK(later.item<float>() == 6);
  summed.assign(Tensor::from<float>({0}));
  choose(Tensor::from<int32_t>({7}));
  later.assign(Tensor::from<float>({6}));
  add(Tensor::from<float>({1}));  // behind choose: whether it was refused, too, isn't known
  restored.assign(summed.value() * 2.0f);
  CHECK_THROWS_AS(table.to_vector<float>(), OutOfRange);
  CHECK(is_poisoned(restored));
  CHECK(is_poisoned(later));
}

TEST_CASE("what one replica's kernels refuse is told by the other's results, and poisons all") {
  use_simulated_gpus();
  distribute::MirroredStrategy strategy({.devices = {"GPU:0", "GPU:1"}});
  const auto scope = strategy.scope();
  Sequential model({layers::Dense({.units = 3})});
  model.compile({.optimizer = optimizers::SGD(),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  const Tensor x = ops::sin(ops::reshape(ops::arange(0.0f, 16.0f), {8, 2})).host();
  model.fit(x, Tensor::from<int32_t>({0, 1, 2, 0, 1, 2, 0, 1}), {.batch_size = 8, .verbose = 0});
  // The invalid label is in the second replica's part.
  const Tensor wrong = Tensor::from<int32_t>({0, 1, 2, 0, 1, 2, 0, 7});
  CHECK_THROWS_AS(model.fit(x, wrong, {.batch_size = 8, .verbose = 0}), InvalidArgument);
  CHECK_THROWS_AS(model.predict(x, {.verbose = 0}), FailedPrecondition);
}

TEST_CASE("who asks for a value that there isn't is told, whoever waits first") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  const Tensor table = Tensor::from<float>({1, 2, 3}).to(kFirst);
  const Function take = function([&](const Tensor& index) { return ops::take(table, index, 0); });
  const Tensor good = Tensor::from<int32_t>({1}).to(kFirst);
  const Tensor bad = Tensor::from<int32_t>({9}).to(kFirst);
  Variable other(Tensor::from<float>({5}), {.name = "other"});
  const Function add = function([&](const Tensor& x) { other.assign_add(x); });
  take(good);
  std::atomic<int> told = 0;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const DeviceScope own("GPU:0");
      for (int i = 0; i < 8; ++i) {
        if (t % 2 == 0) {
          try {
            take(bad);
          } catch (const OutOfRange&) {
            ++told;
          }
        } else {
          right += take(good).item<float>() == 2;
        }
      }
    });
  }
  for (int i = 0; i < 8; ++i) add(Tensor::from<float>({1}));
  for (std::thread& thread : threads) thread.join();
  CHECK(told == 16);
  CHECK(right == 16);
  CHECK(values(Tensor(other)) == std::vector<float>{13});  // it has nothing to do with them
}

TEST_CASE("runs that nobody waits for are at most sixteen") {
  const auto runtime = cuda::simulated::make_runtime({.gpus = 1, .memory_bytes = 64 << 20});
  auto& device = *new cuda::GpuDevice(*runtime, 0, kFirst, 0);
  std::vector<std::shared_ptr<cuda::RuntimeEvent>> runs;
  const auto begun = [&](size_t k) {  // query at most twice: by the third time it would be done
    return k < runs.size() && runtime->is_done(*runs[k]);
  };
  for (int k = 0; k < 20; ++k) {
    device.allocate(256, "a test");
    runtime->fill(device.stream(), device.allocate(256, "a test")->data(), 0, 256);
    runs.push_back(runtime->record(device.stream()));
    device.follow(runs.back());
  }
  CHECK(begun(3));
  CHECK_FALSE(begun(4));
  device.drain();
}

TEST_CASE("a function whose variables lie elsewhere at each call is right, and it is said") {
  use_simulated_gpus();
  const DeviceScope scope("GPU:0");
  Variable total(Tensor::from<float>({0}), {.name = "total"});
  const Function add = function([&](const Tensor& x) { total.assign_add(x); });
  const Tensor one = Tensor::from<float>({1}).to(kFirst);
  const test::Log log;
  std::vector<Tensor> held;
  for (int step = 0; step < 40; ++step) {
    add(one);
    held.push_back(Tensor(total));  // so the next call writes to other memory
  }
  CHECK(log.text().find("variables of a function have other addresses in each call") !=
        std::string::npos);
  for (size_t step = 0; step < held.size(); ++step) {
    CHECK(values(held[step])[0] == static_cast<float>(step + 1));
  }
}

TEST_CASE("several threads use one GPU") {
  use_simulated_gpus();
  const Function twice = function([](const Tensor& x) { return ops::sum(x * 2.0f); });
  std::vector<float> results(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const DeviceScope scope("GPU:0");
      for (int i = 0; i < 5; ++i) {
        const std::vector<float> many(30'000, static_cast<float>(t + i));
        results[static_cast<size_t>(t)] += twice(Tensor::from(many)).item<float>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    CHECK(results[static_cast<size_t>(t)] == 60'000.0f * static_cast<float>(5 * t + 10));
  }
}

TEST_CASE("devices that there aren't, and details of those that there are") {
  use_simulated_gpus();
  const auto gpus = config::list_physical_devices(DeviceType::Gpu);
  REQUIRE(gpus.size() == 2);
  CHECK(config::get_device_details(gpus[1]).at("compute_capability") == "9.0");
  CHECK(error_of([] {
          DeviceScope scope("GPU:7");
        }).find("there is no such device; expected an index below 2") != std::string::npos);
  const Tensor held = on(kFirst, numbers(1000));
  CHECK(config::get_memory_info("GPU:0").current >= 4000);
  CHECK(config::get_memory_info("GPU:0").peak >= config::get_memory_info("GPU:0").current);
  CHECK_THROWS_AS(config::get_memory_info("CPU:0"), Unimplemented);
  CHECK(error_of([&] {
          config::set_logical_device_configuration(gpus[0], 2);
        }).find("GPUs have been used already") != std::string::npos);
}

TEST_CASE("a batch normalization trains on a GPU as on the CPU") {
  const auto train = [](const char* device) {
    const DeviceScope scope(device);
    set_random_seed(1);
    layers::BatchNormalization normalization;
    const Tensor x = ops::sin(ops::reshape(ops::arange(0.0f, 600.0f), {25, 3, 8})) * 2.0f + 7.0f;
    const Function step = function([&](const Tensor& batch) {
      GradientTape tape;
      const Tensor input = batch * 1.5f;
      tape.watch(input);
      const Tensor y = normalization(input, {.training = true});
      return ops::stack({y, tape.gradient(ops::sum(y * ops::sin(batch)), input)}, 0);
    });
    std::vector<std::vector<float>> found;
    for (int k = 0; k < 2; ++k) found.push_back(values(step(x)));
    for (const Variable& variable : normalization.variables()) {
      found.push_back(values(Tensor(variable)));
    }
    return found;
  };
  use_simulated_gpus();
  const auto expected = train("CPU:0");
  const auto found = train("GPU:0");
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t k = 0; k < found[i].size(); ++k) {
      CHECK(found[i][k] == doctest::Approx(expected[i][k]).epsilon(2e-4));
    }
  }
}

using Values = std::vector<Tensor>;

// Checks that a compiled function returns the same on a GPU as on the CPU.
void check_function(const char* what, const std::function<Values(const Values&)>& body,
                    const Values& inputs) {
  CAPTURE(what);
  cuda::testing::check_program_like_cpu(
      [&] {
        const Function compiled([&](const Values& in) { return body(in); });
        return compiled.call(inputs);
      },
      1e-5);
}

TEST_CASE("arrays of different dtypes are computed apart") {
  const Tensor x = ops::sin(ops::arange(0.0f, 40.0f));
  const Values halves = {ops::cast(x, "bfloat16").host(), ops::cast(x, "float16").host()};
  check_function(
      "casts alone",
      [](const Values& v) {
        return Values{ops::cast(v[0], "float32"), ops::cast(v[1], "float32")};
      },
      halves);
  check_function(
      "comparisons",
      [](const Values& v) {
        return Values{ops::cast(v[0] > 0.5f, "float32"), ops::cast(v[1] > 0.5f, "float32")};
      },
      {x.host(), halves[0]});
}

TEST_CASE("sums of squares that are no moments of columns") {
  const auto moments = [](const std::string& dtype, std::vector<int64_t> axes, bool keepdims) {
    return [=](const Values& v) {
      const Tensor x = ops::cast(v[0], dtype);
      const Tensor mean = ops::mean(x, axes, keepdims);
      return Values{mean, ops::sum(ops::square(x - mean), axes, keepdims)};
    };
  };
  const Tensor x = ops::sin(ops::arange(0.0f, 120.0f));
  check_function("means of the wrong axis", moments("float32", {0, 2}, false),
                 {ops::reshape(x, {30, 4, 1}).host()});
  check_function("float64 of bfloat16", moments("float64", {0}, true),
                 {ops::cast(ops::reshape(x, {30, 4}), "bfloat16").host()});
  check_function("moments", moments("float32", {0}, true), {ops::reshape(x, {30, 4}).host()});
}

TEST_CASE("models train on a GPU as on the CPU, on one and on two") {
  use_simulated_gpus();
  const auto train = [](Strategy strategy) {
    set_random_seed(3);
    const auto scope = strategy.scope();
    Sequential model({layers::Dense({.units = 8, .activation = "relu"}),
                      layers::Dropout({.rate = 0.2}), layers::Dense({.units = 3})});
    model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01}),
                   .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
    const Tensor x = ops::sin(ops::reshape(ops::arange(0, 144), {24, 6})).host();
    const Tensor y = ops::mod(ops::arange(0, 24), 3).host();
    return model.fit(x, y, {.batch_size = 8, .epochs = 3, .verbose = 0})["loss"];
  };
  const auto expected = train(distribute::OneDeviceStrategy("CPU:0"));
  const auto one = train(distribute::OneDeviceStrategy("GPU:0"));
  const auto two = train(distribute::MirroredStrategy({.devices = {"GPU:0", "GPU:1"}}));
  REQUIRE(expected.size() == 3);
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    CHECK(one[epoch] == doctest::Approx(expected[epoch]).epsilon(1e-4));
    CHECK(two[epoch] == doctest::Approx(expected[epoch]).epsilon(1e-4));
  }
}
