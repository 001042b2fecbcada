// SPDX-License-Identifier: Apache-2.0
// Simulated GPUs of several processes, which threads stand for here: how they are connected, and
// what is left of a step whose other processes are gone. (tests/distribute has real processes.)
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <array>
#include <barrier>
#include <future>
#include <thread>

#include "distribute/strategies/replicated.h"
#include "framework/backends/cuda/cuda_backend.h"
#include "framework/backends/cuda/process_connection.h"
#include "framework/strategy/in_process_group.h"
#include "tests/support/cuda/simulator.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"

using namespace cornu;
using test::error_of;
using testing::contains;

namespace {

void use_simulated_gpus() {
  register_backend(DeviceType::Gpu, cuda::cuda_backend(cuda::simulated::simulated_runtime()));
}

Device gpu(int index) { return {DeviceType::Gpu, index}; }

// Where two processes meet.
struct Meeting {
  std::barrier<> all{2};
  std::array<std::string, 2> said;
};

class Process : public ProcessGroup {
 public:
  Process(Meeting& meeting, int number) : meeting_(meeting), number_(number) {}

  int process() const override { return number_; }
  int processes() const override { return 2; }
  std::vector<std::string> exchange(std::string_view what, const std::string& own) override {
    if (what == fails_at) throw PeerLost(1 - number_, "elsewhere", 0);
    meeting_.said[static_cast<size_t>(number_)] = own;
    meeting_.all.arrive_and_wait();
    const std::vector<std::string> all(meeting_.said.begin(), meeting_.said.end());
    meeting_.all.arrive_and_wait();
    return all;
  }
  void on_end(std::function<void(std::exception_ptr)> told) override {
    told_ = std::move(told);
    if (ends_at_once) end();
  }
  void end() { told_(std::make_exception_ptr(PeerLost(1 - number_, "elsewhere", 3))); }

  std::string fails_at;
  bool ends_at_once = false;

 private:
  Meeting& meeting_;
  int number_;
  std::function<void(std::exception_ptr)> told_;
};

using Connections = std::array<std::shared_ptr<GroupConnection>, 2>;

struct Processes {
  Meeting meeting;
  Process first{meeting, 0};
  Process second{meeting, 1};

  // With one GPU each.
  Connections connect(const Device& of_first, const Device& of_second) {
    auto other = std::async(std::launch::async, [&] {
      return backend_for(of_second).connect_processes(std::vector{of_second}, second);
    });
    Connections made;
    made[0] = backend_for(of_first).connect_processes(std::vector{of_first}, first);
    made[1] = other.get();
    return made;
  }
};

// A process's strategy, whose only replica is on this GPU.
class OfProcess : public distribute::MirroredReplicas {
 public:
  OfProcess(int index, GroupConnection& connection, std::unique_ptr<CollectiveGroup> end)
      : MirroredReplicas("OfProcess", {gpu(index)}, distribute::CrossDeviceOps()),
        connection_(connection) {
    ends_.push_back(std::move(end));
  }
  int64_t num_replicas_in_sync() const override { return 2; }

 protected:
  Group take_group() override { return connection_.over(std::move(ends_)); }
  void give_back(Group group) override { ends_ = std::move(group); }

 private:
  GroupConnection& connection_;
  Group ends_;
};

Tensor summed(const Tensor& x) {
  return distribute::get_replica_context().all_reduce(ReduceOp::Sum, x);
}

}  // namespace

TEST_CASE("GPUs of two processes are connected, or both go by the host, and say why") {
  use_simulated_gpus();
  const auto log_of = [](const Device& of_second, const auto& change) {
    const test::Log log;
    Processes processes;
    change(processes);
    const Connections made = processes.connect(gpu(0), of_second);
    CHECK((made[0] == nullptr) == (made[1] == nullptr));
    return log.text() + (made[0] ? " connected" : " not connected");
  };
  const auto nothing = [](Processes&) {};
  const std::string connected = log_of(gpu(1), nothing);
  CHECK(contains(connected, "The GPUs of 2 processes communicate by Simulated collectives 1."));
  CHECK(connected.ends_with(" connected"));
  const std::string shared = log_of(gpu(0), nothing);
  CHECK(contains(shared,
                 "GPUs of 2 processes communicate through the hosts' memory. A GPU of process 1 is "
                 "another replica's, too."));
  CHECK(shared.ends_with(" not connected"));
  const cuda::simulated::MissingCollectives missing;
  CHECK(
      contains(log_of(gpu(1), nothing),
               "GPUs of 2 processes communicate through the hosts' memory. Process 0: The library "
               "that connects GPUs is missing."));
}

TEST_CASE("a process that is lost while GPUs are being connected") {
  use_simulated_gpus();
  for (const char* at : {"GPUs", "an id of GPUs", "connected GPUs"}) {
    Processes processes;
    processes.first.fails_at = processes.second.fails_at = at;
    CHECK(contains(error_of([&] { processes.connect(gpu(0), gpu(1)); }), "Unavailable: "));
  }
  // The other one never joins.
  Processes processes;
  processes.first.ends_at_once = processes.second.ends_at_once = true;
  processes.first.fails_at = processes.second.fails_at = "connected GPUs";
  CHECK(contains(error_of([&] { processes.connect(gpu(0), gpu(1)); }), "Unavailable: "));
}

TEST_CASE("what a lost process leaves of a step is poisoned, and nothing else") {
  use_simulated_gpus();
  Processes processes;
  const Connections connections = processes.connect(gpu(0), gpu(1));
  REQUIRE(connections[0] != nullptr);
  auto ends = make_in_process_group(2);
  const Strategy first(std::make_shared<OfProcess>(0, *connections[0], std::move(ends[0])));
  const Strategy second(std::make_shared<OfProcess>(1, *connections[1], std::move(ends[1])));
  Variable total, other;
  {
    const DeviceScope device("GPU:0");
    total = Variable(Tensor::from<float>({0}), {.name = "total", .trainable = false});
    other = Variable(Tensor::from<float>({0}), {.name = "other", .trainable = false});
  }
  const Function step = function([&](const Tensor& x) {
    const Tensor sum = summed(x);
    total.assign_add(sum);
    return sum * 2.0f;
  });
  const Function others = function([](const Tensor& x) { return summed(x); });
  const auto run_first = [&] {
    const auto scope = first.scope();
    return first.run(step, Tensors(Tensor::from<float>({1})))[0].single();
  };
  const auto run_second = [&] {
    const auto scope = second.scope();
    return second.run(others, Tensors(Tensor::from<float>({10})))[0].single();
  };
  const Tensor before = run_first();
  CHECK(run_second().to_vector<float>() == std::vector<float>{11});
  CHECK(Tensor(total).to_vector<float>() == std::vector<float>{11});

  const Tensor stopped = run_first();  // the other one never comes
  const Function behind = function([&] { other.assign(Tensor(total) + 1.0f); });
  {
    const DeviceScope device("GPU:0");
    behind();
  }
  processes.first.end();
  const std::string lost = "Unavailable: ";
  CHECK(contains(error_of([&] { stopped.to_vector<float>(); }), lost));
  CHECK(contains(error_of([&] { stopped.to_vector<float>(); }), lost));  // as often as it is asked
  CHECK(before.to_vector<float>() == std::vector<float>{22});
  for (const Variable& variable : {total, other}) {
    CHECK(contains(error_of([&] { Tensor(variable).to_vector<float>(); }),
                   "another process was lost"));
  }
  CHECK(contains(error_of([&] {
                   const auto scope = first.scope();
                   first.run(others, Tensors(Tensor::from<float>({1})));
                 }),
                 lost));
  CHECK(contains(error_of([&] { connections[0]->settle(); }), lost));
  total.assign(Tensor::from<float>({5}));
  CHECK(Tensor(total).to_vector<float>() == std::vector<float>{5});
  connections[1]->settle();
}

TEST_CASE("what is written behind a run that has refused something is poisoned, too") {
  use_simulated_gpus();
  const DeviceScope device("GPU:0");
  const Variable taken(Tensor::from<float>({0}), {.name = "taken"});
  const Variable behind(Tensor::from<float>({0}), {.name = "behind"});
  const Tensor table = Tensor::from<float>({1, 2, 3});
  const Function refuses =
      function([&](const Tensor& at) { taken.assign(ops::take(table, at, 0)); });
  const Function copies = function([&] { behind.assign(Tensor(taken) * 2.0f); });
  refuses(Tensor::from<int32_t>({7}));
  copies();
  CHECK(contains(error_of([&] { Tensor(taken).to_vector<float>(); }), "OutOfRange: "));
  CHECK(contains(error_of([&] { Tensor(behind).to_vector<float>(); }), "FailedPrecondition: "));
}
