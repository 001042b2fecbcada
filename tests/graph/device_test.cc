// SPDX-License-Identifier: Apache-2.0
// Tensors, ops, variables and functions on devices whose memory the host can't read.
#include <cornu/cornu.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "framework/core/variable_access.h"
#include "framework/graph/backend.h"
#include "framework/graph/devices.h"
#include "tests/support/device/guarded_device.h"
#include "tests/support/device/two_backends.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::error_of;

namespace {

const Device kFirst{DeviceType::Gpu, 0};
const Device kSecond{DeviceType::Gpu, 1};

Tensor on(const Device& device, std::vector<float> values) {
  test::register_guarded_devices();
  return Tensor::from(values).to(device);
}

std::vector<float> values(const Tensor& tensor) { return tensor.to_vector<float>(); }

// Whether this process can read a byte at the address.
bool is_readable(const std::byte* address) {
  std::array<int, 2> ends = {};
  REQUIRE(pipe(ends.data()) == 0);
  const bool readable = write(ends[1], address, 1) == 1;
  if (!readable) CHECK(errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return readable;
}

}  // namespace

// ---- tensors ----

TEST_CASE("what lies on a device is read through a copy on the host") {
  const Tensor x = on(kSecond, {1, 2.5f, 3});
  CHECK(x.device() == kSecond);
  CHECK(x.is_bound());
  CHECK_FALSE(x.on_host());
  CHECK_FALSE(is_readable(x.address()));
  CHECK(x.data<float>()[1] == 2.5f);
  CHECK(x.data<float>().data() == x.data<float>().data());  // a single copy
  float sum = 0;
  for (float value : on(kFirst, {4, 5}).data<float>()) sum += value;  // from a temporary
  CHECK(sum == 9);
  CHECK(values(x.rows(1, 3)) == std::vector<float>{2.5f, 3});
  CHECK(x.rows(2, 3).item<float>() == 3);
  CHECK(values(x.with_shape({3, 1})) == std::vector<float>{1, 2.5f, 3});
  CHECK(x.to_string() == "Tensor([1.  2.5 3. ], shape=(3,), dtype=float32)");
  CHECK(error_of([&] { x.raw(); }) ==
        "FailedPrecondition: Memory on GPU:1: the host can't read or write it. Copy it to the host "
        "first, for example with Tensor::host().");
  const Tensor host = x.host();
  CHECK(host.on_host());
  CHECK_FALSE(host.is_bound());
  CHECK(values(host) == values(x));
}

TEST_CASE("several threads may ask for the copy") {
  const Tensor x = on(kFirst, std::vector<float>(1000, 7));
  std::vector<const float*> seen(4);
  std::vector<std::thread> threads;
  for (auto& place : seen) {
    threads.emplace_back([&x, &place] { place = x.data<float>().data(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const float* place : seen) {
    CHECK(place == seen[0]);
    CHECK(place[999] == 7);
  }
}

TEST_CASE("writing to a tensor of a device writes to a copy on the host") {
  const Tensor x = on(kFirst, {1, 2});
  Tensor copy = x;
  copy.mutable_data<float>()[0] = 9;
  CHECK(copy.on_host());
  CHECK(values(copy) == std::vector<float>{9, 2});
  CHECK(values(x) == std::vector<float>{1, 2});
}

TEST_CASE("tensors are copied from device to device") {
  const Tensor x = on(kFirst, {1, 2});
  CHECK(x.to("/device:GPU:0").id() == x.id());
  const Tensor y = x.to(kSecond);
  CHECK(y.device() == kSecond);
  CHECK(values(y) == values(x));
  const Tensor z = y.to("CPU:0");
  CHECK(z.device() == Device{});
  CHECK(z.is_bound());
  const Tensor mask = Tensor::from({true, false});
  CHECK(Tensor::from({1.f, 2.f}).with_mask(mask).to(kFirst).mask().device() == kFirst);
  CHECK(Tensor(2.5).to(kFirst).dtype() == DType::Float32);
  CHECK(error_of([&] { x.to("GPU:2"); }) ==
        "InvalidArgument: Device GPU:2: there is no such device; expected an index below 2. "
        "config::list_logical_devices() lists the devices.");
  if (!config::why_unavailable(DeviceType::Tpu).empty()) {
    CHECK(error_of([&] {
            x.to("TPU:0");
          }).starts_with("FailedPrecondition: Device TPU:0: no PJRT plugin can be used; "));
  }
}

TEST_CASE("gradients go back through a copy") {
  const Tensor x = on(kFirst, {1, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x.to(kSecond);
  const Tensor target = ops::sum(y * y).to(kFirst) + ops::sum(x);
  const Tensor gradient = tape.gradient(target, x);
  CHECK(gradient.device() == kFirst);
  CHECK(values(gradient) == std::vector<float>{3, 5});
}

// ---- ops ----

TEST_CASE("an op runs where its tensors are, and values without a place follow") {
  const Tensor x = on(kSecond, {1, 2});
  CHECK((1.0f - x).device() == kSecond);
  CHECK((x - 1.0f).device() == kSecond);
  CHECK((Tensor::from({3.f, 4.f}) * x).device() == kSecond);
  CHECK(values(Tensor::from({3.f, 4.f}) * x) == std::vector<float>{3, 8});
  const DeviceScope scope(kFirst);
  CHECK((x + x).device() == kSecond);  // not the scope's device
  CHECK((Tensor::from({3.f}) + 1).device() == kFirst);
  CHECK(ops::zeros({2}).device() == kFirst);
  CHECK(random::uniform({2}, {.seed = 1}).device() == kFirst);
  CHECK(ops::reshape(Tensor::from({1, 2}), {2, 1}).device() == kFirst);
}

TEST_CASE("tensors of two devices are an error that says what to do") {
  const Tensor x = on(kFirst, {1, 2});
  const Tensor y = on(kSecond, {1, 2});
  CHECK(
      error_of([&] { x + y; }) ==
      "InvalidArgument: add: expected tensors on one device, got GPU:0 and GPU:1 (float32 (2,) on "
      "GPU:0, float32 (2,) on GPU:1). Copy one of them, for example with x.to(\"GPU:0\").");
  const Tensor on_cpu = ops::ones({2}).to("CPU:0");
  CHECK(error_of([&] { ops::maximum(on_cpu, y); }) ==
        "InvalidArgument: maximum: expected tensors on one device, got CPU:0 and GPU:1 (float32 "
        "(2,) on CPU:0, float32 (2,) on GPU:1). Copy one of them, for example with "
        "x.to(\"CPU:0\").");
  CHECK(values(on_cpu.to(kSecond) + y) == std::vector<float>{2, 3});
  CHECK(values(on_cpu.host() + y) == std::vector<float>{2, 3});
  CHECK((ops::ones({2}) + y).device() == kSecond);  // none of its inputs is bound to a device
  Tensor made[2];
  for (int i = 0; i < 2; ++i) {
    const DeviceScope scope(Device{DeviceType::Gpu, i});
    made[i] = random::uniform({2}, {.seed = 1});
  }
  CHECK((made[1] * 2).device() == kSecond);
  CHECK_THROWS_AS(made[0] + made[1], InvalidArgument);
}

TEST_CASE("ops whose shapes depend on values, masks and loops") {
  const Tensor x = on(kFirst, {3, 0, 5, 0});
  CHECK(values(x[x > 0]) == std::vector<float>{3, 5});
  CHECK(ops::nonzero(x)[0].to_vector<int32_t>() == std::vector<int32_t>{0, 2});
  CHECK(x[0].device() == kFirst);
  CHECK(values(ops::unique(x)) == std::vector<float>{0, 3, 5});
  CHECK(ops::cond(
            ops::sum(x) > 1, [&] { return x + 1; }, [&] { return x; })
            .device() == kFirst);
}

// ---- scopes ----

TEST_CASE("scopes nest, and the process has a default device") {
  test::register_guarded_devices();
  CHECK_FALSE(has_device_scope());
  {
    const DeviceScope outer("GPU:1");
    CHECK(default_device() == kSecond);
    {
      const DeviceScope inner("/job:localhost/replica:0/task:0/device:CPU:0");
      CHECK(ops::ones({1}).device() == Device{});
    }
    CHECK(ops::ones({1}).device() == kSecond);
  }
  CHECK(default_device() == Device{});
  set_default_device("GPU:1");
  Device elsewhere;
  std::thread([&] { elsewhere = ops::ones({1}).device(); }).join();
  CHECK(elsewhere == kSecond);
  set_default_device(Device{});
  for (const char* name : {"GPU:9", "gpu:x"}) {
    CHECK_THROWS_AS([&] { const DeviceScope scope(name); }(), InvalidArgument);
  }
}

// ---- variables ----

TEST_CASE("variables live on the device of the scope in which they are made") {
  const Tensor x = on(kFirst, {1, 2});
  CHECK(Variable(x).device() == kFirst);
  CHECK(Variable(Tensor::from({1.f})).device() == Device{});
  const DeviceScope scope(kSecond);
  const Variable v(x, {.name = "v"});
  CHECK(v.device() == kSecond);
  CHECK(v.value().device() == kSecond);
  v.assign(Tensor::from({3.f, 4.f}));
  CHECK(v.value().device() == kSecond);
  v.assign(x);
  CHECK(v.value().device() == kSecond);
  v += 1;
  CHECK(values(v) == std::vector<float>{2, 3});
  CHECK(v.to_string() == "Variable(path=v, shape=(2,), dtype=float32, value=[2. 3.])");
}

TEST_CASE("a handle on a variable's value keeps it when a step writes in place") {
  test::register_guarded_devices();
  const DeviceScope scope(kSecond);
  const Variable v(ops::zeros({3}));
  const Function step = function([v] { v.assign(v + 1); });
  step();
  const Tensor held = v.value();
  CHECK(values(held) == std::vector<float>(3, 1));
  CHECK(held.data<float>()[0] == 1);
  step();
  CHECK(held.data<float>()[0] == 1);
  CHECK(values(v) == std::vector<float>(3, 2));
  CHECK(v.value().data<float>()[0] == 2);  // not an older copy
  step();
  CHECK(v.value().data<float>()[0] == 3);
}

TEST_CASE("a run gets the memory of its own device only") {
  test::register_guarded_devices();
  const Variable v(on(kFirst, {1}), {.name = "v"});
  VariableAccess access;
  access.add(v, false);
  access.acquire();
  CHECK_FALSE(is_readable(access.memory(0, kFirst)));
  CHECK(error_of([&] { access.memory(0); }) ==
        "FailedPrecondition: Variable 'v': it lives on GPU:0, but the code that uses it was "
        "compiled for CPU:0. Make it and run the code within the same DeviceScope.");
}

// ---- functions ----

TEST_CASE("a function is compiled for each device, and brings its inputs") {
  const Tensor x = on(kFirst, {1, 2});
  const Function f = function([](const Tensor& a, const Tensor& b) { return a * b + 1; });
  CHECK(f(x, 2.0f).single().device() == Device{});
  {
    const DeviceScope scope(kSecond);
    CHECK(f(x, 2.0f).single().device() == kSecond);
    CHECK(values(f(x, ops::ones({}))) == std::vector<float>{2, 3});
  }
  CHECK(f.trace_count() == 2);
  CHECK(f.compiled({x, x})->device == Device{});
  const DeviceScope scope(kFirst);
  CHECK(f.compiled({x, x})->device == kFirst);
  CHECK(f.compiled({x, x})->inputs({Tensors({x.to(kSecond), x})}).front().device() == kFirst);
  const Function eager = function([](const Tensor& a) { return a + 1; }, {.run_eagerly = true});
  CHECK(eager(x.to(kSecond)).single().device() == kFirst);
}

TEST_CASE("a function runs where its variables live") {
  const Variable v(on(kSecond, {1, 2}), {.name = "v"});
  const Function f = function([v](const Tensor& x) { return x * v; }, {.name = "f"});
  const Tensor y = f(Tensor::from({3.f, 4.f}));
  CHECK(y.device() == kSecond);
  CHECK(values(y) == std::vector<float>{3, 8});
  const DeviceScope scope(kFirst);
  CHECK(
      error_of([&] {
        f(Tensor::from({3.f, 4.f}));
      }) ==
      "InvalidArgument: Function 'f': it runs on GPU:0, but variable 'v' lives on GPU:1. Make its "
      "variables and call it within the same DeviceScope.");
}

TEST_CASE("graphs hold captured tensors on the host") {
  const Tensor x = on(kSecond, {1, 2});
  const Function f = function([x](const Tensor& y) { return x + y; });
  CHECK(values(f(Tensor::from({1.f, 1.f}))) == std::vector<float>{2, 3});
  const Graph& graph = f.compiled({Tensor::from({1.f, 1.f})})->graph;
  CHECK(graph.nodes[0].attributes.get_tensor("value").on_host());
  CHECK(graph.to_string().find("<float32[2] 1.0 2.0>") != std::string::npos);
}

TEST_CASE("layers and models on a device of a scope") {
  test::register_guarded_devices();
  std::optional<Sequential> model;
  {
    const DeviceScope scope(kSecond);
    model.emplace(Sequential(Input({.shape = {2}}), {layers::Dense({.units = 1})}));
    model->compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  }
  const Tensor x = test::some_values({8, 2}, 1);
  const Tensor y = test::some_values({8, 1}, 2);
  model->fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0});  // outside the scope
  for (const Variable& variable : model->variables()) CHECK(variable.device() == kSecond);
  CHECK(model->predict(x, {.verbose = 0}).single().on_host());
  CHECK((*model)(x).single().device() == kSecond);
  const auto weights = model->get_weights();
  CHECK(weights[0].on_host());
  model->set_weights(weights);
  CHECK(model->variables()[0].device() == kSecond);
}

TEST_CASE("models of OneDeviceStrategy are made and trained on its device") {
  test::register_guarded_devices();
  const distribute::OneDeviceStrategy strategy("GPU:1");
  std::optional<Sequential> model;
  {
    const auto scope = strategy.scope();
    model.emplace(Sequential(Input({.shape = {2}}), {layers::Dense({.units = 1})}));
    model->compile({.optimizer = "sgd", .loss = "mse"});
  }
  CHECK(model->weights()[0].device() == kSecond);
  const auto data = data::Dataset::from_tensor_slices(
                        {test::some_values({8, 2}, 1), test::some_values({8, 1}, 2)})
                        .batch(4);
  model->fit(data, {.epochs = 2, .verbose = 0});
  for (const data::Element& element : data) {
    CHECK((*model)(element.tensor(0)).single().device() == kSecond);  // rows are moved
  }
}

// ---- available devices ----

TEST_CASE("devices are listed by type") {
  test::register_guarded_devices();
  const auto physical = config::list_physical_devices(DeviceType::Gpu);
  REQUIRE(physical.size() == 2);
  CHECK(physical[1].name == "/physical_device:GPU:1");
  CHECK(config::list_physical_devices(DeviceType::Tpu).empty());
  const auto logical = config::list_logical_devices();
  REQUIRE(logical.size() == 3);
  CHECK(logical[0].name == "/device:CPU:0");
  CHECK(logical[2].name == "/device:GPU:1");
  CHECK(Device::parse(logical[2].name) == kSecond);
}

TEST_CASE("a type of devices has one backend") {
  test::register_guarded_devices();
  register_backend(DeviceType::Gpu, test::guarded_backend());  // registering it again is a no-op
  CHECK(error_of([] { register_backend(DeviceType::Gpu, cpu_backend()); }) ==
        "AlreadyExists: register_backend: GPU devices already have the backend 'guarded'; 'cpu' "
        "can't replace it.");
  CHECK(&backend_for(kSecond) == &test::guarded_backend());
  CHECK(&backend_for(Device{}) == &cpu_backend());
}

TEST_CASE("the CPU is split into logical devices, each with a share of the threads") {
  const auto cpu = config::list_physical_devices(DeviceType::Cpu);
  REQUIRE(cpu.size() == 1);
  const ComputeThreadsScope four(4);
  {
    const DeviceScope unsplit("CPU:7");  // another name for CPU:0
    CHECK(compute_threads() == 4);
  }
  config::set_logical_device_configuration(cpu[0], 2);
  CHECK(config::list_logical_devices(DeviceType::Cpu).size() == 2);
  {
    const DeviceScope outer("CPU:1");
    CHECK(compute_threads() == 2);
    const DeviceScope inner("CPU:0");
    CHECK(compute_threads() == 2);
    CHECK(values(ops::ones({2}) + 1) == std::vector<float>{2, 2});
  }
  CHECK(compute_threads() == 4);
  CHECK(error_of([] { const DeviceScope scope("CPU:2"); }) ==
        "InvalidArgument: Device CPU:2: there is no such device; expected an index below 2. "
        "config::list_logical_devices() lists the devices. "
        "config::set_logical_device_configuration splits the CPU into more.");
  CHECK_THROWS_AS(config::set_logical_device_configuration(cpu[0], 0), InvalidArgument);
  CHECK(
      error_of([] {
        config::set_logical_device_configuration({"g", DeviceType::Gpu, 0}, 2);
      }) ==
      "Unimplemented: set_logical_device_configuration: devices of the backend 'guarded' can't be "
      "split.");
  using Limits = std::vector<config::LogicalDeviceConfiguration>;
  CHECK(error_of([&] {
          config::set_logical_device_configuration(cpu[0], Limits{{512}, {}});
        }) ==
        "InvalidArgument: set_logical_device_configuration: CPUs have the host's memory, they take "
        "no memory_limit.");
  CHECK(error_of([&] { config::set_logical_device_configuration(cpu[0], Limits{{0}}); }) ==
        "InvalidArgument: set_logical_device_configuration: expected a memory_limit of at least 1 "
        "MiB, got 0.");
}

TEST_CASE("what another backend's device holds comes through the host") {
  test::register_guarded_devices();
  test::register_guarded_devices(2, DeviceType::Tpu);
  test::check_copies_between("GPU:0", "TPU:0");
  test::check_copies_between("TPU:1", "GPU:1");
}
