// SPDX-License-Identifier: Apache-2.0
// Replicas of one run on a PJRT plugin's devices, together with devices of another backend.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <chrono>

#include "framework/graph/backend.h"
#include "framework/graph/trace.h"
#include "framework/strategy/in_process_group.h"
#include "tests/support/device/guarded_device.h"
#include "tests/support/device/two_backends.h"
#include "tests/support/errors.h"

using namespace cornu;
using namespace std::chrono_literals;

namespace {

constexpr char kEnded[] = "every rank must make the same calls in the same order";

// Runs `body` in two replicas, on scalars of these values and on these devices.
std::vector<float> run_replicas(const std::function<Tensor(const Tensor&)>& body,
                                const std::vector<float>& values,
                                const std::vector<std::string>& devices) {
  const auto graph = trace({{DType::Float32, {}}}, [&](const std::vector<Tensor>& in) {
                       return std::vector<Tensor>{body(in[0])};
                     }).graph;
  Backend& backend = backend_for(Device::parse(devices[0]));
  const auto executable = backend.compile(graph, {.name = "replica"});
  const auto group = make_in_process_group(2, {.timeout = 5s});
  std::vector<Tensor> inputs;
  std::vector<Launch> launches(2);
  for (size_t i = 0; i < 2; ++i) inputs.push_back(Tensor::scalar(values[i]).to(devices[i]));
  for (size_t i = 0; i < 2; ++i) {
    launches[i].executable = executable.get();
    launches[i].device = Device::parse(devices[i]);
    launches[i].inputs = {&inputs[i], 1};
    launches[i].group = group[i].get();
  }
  backend.run(launches);
  return {launches[0].outputs[0].item<float>(), launches[1].outputs[0].item<float>()};
}

Tensor reduced_where_positive(const Tensor& x) {
  return ops::cond(
      x > 0, [&] { return ops::all_reduce(x) * 10; }, [&] { return x - 1; });
}

TEST_CASE("branches that reduce, where all replicas take one") {
  for (const std::vector<std::string>& devices :
       {std::vector<std::string>{"TPU:0", "TPU:0"}, {"TPU:0", "TPU:1"}}) {
    CAPTURE(devices[1]);
    CHECK(run_replicas(reduced_where_positive, {1, 2}, devices) == std::vector<float>{30, 30});
    CHECK(run_replicas(reduced_where_positive, {-1, -2}, devices) == std::vector<float>{-2, -3});
  }
}

TEST_CASE("a replica whose branch doesn't reduce ends the step of those that wait for it") {
  for (const std::vector<std::string>& devices :
       {std::vector<std::string>{"TPU:0", "TPU:0"}, {"TPU:0", "TPU:1"}}) {
    CAPTURE(devices[1]);
    const std::string text = test::message_of<FailedPrecondition>([&] {
      run_replicas(reduced_where_positive, {1, -2}, devices);
    });
    CHECK_MESSAGE(text.find(kEnded) != std::string::npos, text);
  }
}

Tensor reduced_in_turns(const Tensor& x) {
  return ops::while_loop([](const std::vector<Tensor>& vars) { return vars[0] > 0; },
                         [](const std::vector<Tensor>& vars) {
                           return std::vector<Tensor>{vars[0] - 1, ops::all_reduce(vars[1])};
                         },
                         {x, x})[1];
}

TEST_CASE("loops that reduce go on together") {
  const std::vector<std::string> devices = {"TPU:0", "TPU:1"};
  CHECK(run_replicas(reduced_in_turns, {3, 3}, devices) == std::vector<float>{24, 24});
  CHECK(run_replicas(reduced_in_turns, {0, -1}, devices) == std::vector<float>{0, -1});
  const std::string text = test::message_of<FailedPrecondition>([&] {
    run_replicas(reduced_in_turns, {3, 2}, devices);
  });
  CHECK(text ==
        "while: every rank must make the same calls in the same order, but its predicate holds on "
        "1 of 2 replicas, and what it decides over communicates. What replicas do may not depend "
        "on their data: let them reduce it before, for example with all_reduce.");
}

TEST_CASE("what another backend's device holds comes through the host") {
  test::register_guarded_devices();
  test::check_copies_between("GPU:0", "TPU:0");
  test::check_copies_between("TPU:1", "GPU:1");
}

}  // namespace
