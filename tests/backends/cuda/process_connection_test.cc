// SPDX-License-Identifier: Apache-2.0
// Simulated GPUs of several processes, which threads represent here: how they are connected, and
// what is left of a step when the other processes are gone. (tests/distribute has real processes.)
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <future>

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
using Ending = ProcessGroup::Ending;

namespace {

constexpr std::chrono::minutes kLong{10};

void use_simulated_gpus() {
  register_backend(DeviceType::Gpu, cuda::cuda_backend(cuda::simulated::simulated_runtime()));
}

Device gpu(int index) { return {DeviceType::Gpu, index}; }

// The rendezvous of two processes.
struct Meeting {
  std::barrier<> all{2};
  std::array<std::string, 2> said;
};

class Process : public ProcessGroup {
 public:
  Process(std::shared_ptr<Meeting> meeting, int number)
      : meeting_(std::move(meeting)), number_(number) {}

  int process() const override { return number_; }
  int processes() const override { return 2; }
  std::vector<std::string> exchange(std::string_view what, const std::string& own) override {
    if (what == lost_at) std::rethrow_exception(lost());
    meeting_->said[static_cast<size_t>(number_)] = own;
    meeting_->all.arrive_and_wait();
    const std::vector<std::string> all(meeting_->said.begin(), meeting_->said.end());
    meeting_->all.arrive_and_wait();
    return all;
  }
  void on_end(Told told) override {
    const std::lock_guard lock(mutex_);
    told_ = std::move(told);
    if (ended_) told_(ended_, Ending::Gone);
  }
  void abort(std::exception_ptr why) override { end(why, Ending::Gone); }

  void end(const std::exception_ptr& why, Ending ending) {
    const std::lock_guard lock(mutex_);
    ended_ = why;
    if (told_) told_(why, ending);
  }
  std::exception_ptr lost() const {
    return std::make_exception_ptr(PeerLost(1 - number_, "elsewhere", 3));
  }

  std::string lost_at;  // the exchange at which the other process is lost

 private:
  std::shared_ptr<Meeting> meeting_;
  int number_;
  std::mutex mutex_;
  Told told_;
  std::exception_ptr ended_;
};

// Two processes with one GPU each.
struct Processes {
  std::shared_ptr<Meeting> meeting = std::make_shared<Meeting>();
  std::array<std::shared_ptr<Process>, 2> both = {std::make_shared<Process>(meeting, 0),
                                                  std::make_shared<Process>(meeting, 1)};
  std::array<std::shared_ptr<GroupConnection>, 2> connections;
  std::array<std::string, 2> errors;

  void connect(const Device& of_first, const Device& of_second,
               std::chrono::milliseconds timeout = kLong) {
    const auto connect_one = [&](size_t process, const Device& device) {
      errors[process] = error_of([&] {
        connections[process] =
            backend_for(device).connect_processes(std::vector{device}, both[process], timeout);
      });
    };
    auto other = std::async(std::launch::async, connect_one, 1, of_second);
    connect_one(0, of_first);
    other.get();
  }
};

// A process's strategy, whose only replica is on gpu(index).
class OfProcess : public distribute::MirroredReplicas {
 public:
  OfProcess(int index, std::shared_ptr<GroupConnection> connection,
            std::unique_ptr<CollectiveGroup> end)
      : MirroredReplicas("OfProcess", {gpu(index)}, distribute::CrossDeviceOps()),
        connection_(std::move(connection)) {
    ends_.push_back(std::move(end));
  }
  int64_t num_replicas_in_sync() const override { return 2; }

 protected:
  Group take_group() override { return connection_->over(std::move(ends_)); }
  void give_back(Group group) override { ends_ = std::move(group); }

 private:
  std::shared_ptr<GroupConnection> connection_;
  Group ends_;
};

Tensor summed(const Tensor& x) {
  return distribute::get_replica_context().all_reduce(ReduceOp::Sum, x);
}

std::vector<float> values(const Tensor& tensor) { return tensor.to_vector<float>(); }

// Two connected processes whose steps sum a value from each; the first one adds the sum to a
// variable.
struct Training {
  Processes processes;
  std::optional<Strategy> first, second;
  Variable total, other;
  Function step, others;

  explicit Training(std::chrono::milliseconds timeout = kLong) {
    use_simulated_gpus();
    processes.connect(gpu(0), gpu(1), timeout);
    REQUIRE(processes.connections[0] != nullptr);
    auto ends = make_in_process_group(2);
    first.emplace(std::make_shared<OfProcess>(0, processes.connections[0], std::move(ends[0])));
    second.emplace(std::make_shared<OfProcess>(1, processes.connections[1], std::move(ends[1])));
    const DeviceScope device("GPU:0");
    total = Variable(Tensor::from<float>({0}), {.name = "total", .trainable = false});
    other = Variable(Tensor::from<float>({0}), {.name = "other", .trainable = false});
    step = function([total = total](const Tensor& x) {
      const Tensor sum = summed(x);
      total.assign_add(sum);
      return sum * 2.0f;
    });
    others = function([](const Tensor& x) { return summed(x); });
  }

  static Tensor run(const Strategy& strategy, const Function& what, float value) {
    const auto scope = strategy.scope();
    return strategy.run(what, Tensors(Tensor::from<float>({value})))[0].single();
  }
  Tensor run_first() { return run(*first, step, 1); }
  Tensor run_second() { return run(*second, others, 10); }
  void lose_second() { processes.both[0]->end(processes.both[0]->lost(), Ending::Gone); }
};

const std::string kLost = "Unavailable: ";

}  // namespace

TEST_CASE("GPUs of two processes are connected, or both go by the host, and say why") {
  use_simulated_gpus();
  const auto log_of = [](const Device& of_second) {
    const test::Log log;
    Processes processes;
    processes.connect(gpu(0), of_second);
    CHECK((processes.connections[0] == nullptr) == (processes.connections[1] == nullptr));
    return log.text() + (processes.connections[0] ? " connected" : " not connected");
  };
  const std::string connected = log_of(gpu(1));
  CHECK(contains(connected, "The GPUs of 2 processes communicate by Simulated collectives 1."));
  CHECK(connected.ends_with(" connected"));
  const std::string shared = log_of(gpu(0));
  CHECK(contains(shared,
                 "GPUs of 2 processes communicate through the hosts' memory. A GPU of process 1 is "
                 "another replica's, too."));
  CHECK(shared.ends_with(" not connected"));
  const cuda::simulated::MissingCollectives missing;
  CHECK(
      contains(log_of(gpu(1)),
               "GPUs of 2 processes communicate through the hosts' memory. Process 0: The library "
               "that connects GPUs is missing."));
}

TEST_CASE("GPUs that can't be connected in time go by the host") {
  use_simulated_gpus();
  const cuda::simulated::UnreachableRanks unreachable;  // as behind a firewall
  const test::Log log;
  Processes processes;
  const auto connect_one = [&](int process) {
    return cuda::connect_processes(
        cuda::simulated::simulated_runtime(), {&cuda::gpu_device(process)},
        processes.both[static_cast<size_t>(process)], kLong, std::chrono::milliseconds(20));
  };
  auto other = std::async(std::launch::async, connect_one, 1);
  CHECK(connect_one(0) == nullptr);
  CHECK(other.get() == nullptr);
  CHECK(contains(log.text(),
                 "GPUs of 2 processes communicate through the hosts' memory. Process 0: GPUs "
                 "weren't connected in 0.02 s. Can the machines reach each other at the ports that "
                 "Simulated collectives 1 chooses, in the network that NCCL_SOCKET_IFNAME names?"));
}

TEST_CASE("a process that is lost while GPUs are being connected") {
  use_simulated_gpus();
  for (const char* at : {"GPUs", "an id of GPUs", "connected GPUs"}) {
    CAPTURE(at);
    Processes processes;
    for (const auto& process : processes.both) {
      process->lost_at = at;
      if (at == std::string("connected GPUs")) process->end(process->lost(), Ending::Gone);
    }
    processes.connect(gpu(0), gpu(1));
    for (const std::string& error : processes.errors) CHECK(error.starts_with(kLost));
  }
}

TEST_CASE("what depends on a step that a lost process stopped is known to, and nothing else") {
  Training training;
  const DeviceScope device("GPU:0");
  const Function copies = function([&] { training.other.assign(Tensor(training.total) + 1.0f); });
  const Function reads = function([&](const Tensor& x) { return Tensor(training.total) + x; });
  const Tensor one = Tensor::from<float>({1}).to("GPU:0");
  const Tensor before = training.run_first();
  CHECK(values(training.run_second()) == std::vector<float>{11});
  const Tensor snapshot = Tensor(training.total);
  CHECK(values(snapshot) == std::vector<float>{11});

  const Tensor stopped = training.run_first();  // the other process never joins
  copies();
  const Tensor of_variable = reads(one);
  const Tensor eager = stopped * 2.0f;
  const Tensor of_argument = function([](const Tensor& x) { return x + 1.0f; })(stopped);
  const Tensor moved = eager.to("GPU:1");
  const Tensor later_snapshot = Tensor(training.total);
  const Variable assigned(eager, {.name = "assigned"});
  const Function adds = function([&] { assigned.assign_add(Tensor::from<float>({1})); });
  adds();
  const Tensor of_assigned = assigned.value();
  const Tensor unconcerned = one + 1.0f;
  training.lose_second();
  for (int i = 0; i < 2; ++i) {  // each read throws again
    for (const Tensor& tensor :
         {stopped, of_variable, eager, of_argument, moved, later_snapshot, of_assigned}) {
      CHECK(error_of([&] { values(tensor); }).starts_with(kLost));
    }
  }
  CHECK(values(before) == std::vector<float>{22});
  CHECK(values(snapshot) == std::vector<float>{11});
  CHECK(values(unconcerned) == std::vector<float>{2});
  for (const Variable& variable : {training.total, training.other, assigned}) {
    CHECK(contains(error_of([&] { values(Tensor(variable)); }), "Lost rank 1 at elsewhere"));
  }
  CHECK(error_of([&] { training.run(*training.first, training.others, 1); }).starts_with(kLost));
}

TEST_CASE("a group that has ended is told once it is settled, and leaves nothing behind") {
  Training training;
  const DeviceScope device("GPU:0");
  const Tensor table = Tensor::from<float>({1, 2, 3});
  const Function takes = function([&](const Tensor& at) { return ops::take(table, at, 0); });
  const Tensor first = Tensor::from<int32_t>({1}).to("GPU:0");
  takes(first);
  const Tensor stopped = training.run_first();
  training.lose_second();
  CHECK(error_of([&] { values(takes(first)); }).starts_with(kLost));  // behind the stopped step
  CHECK(error_of([&] { training.processes.connections[0]->settle(); }).starts_with(kLost));
  training.total.assign(Tensor::from<float>({5}));
  CHECK(values(Tensor(training.total)) == std::vector<float>{5});
  CHECK(values(takes(first)) == std::vector<float>{2});
  const Function doubles = function([&] { training.total.assign(Tensor(training.total) * 2.0f); });
  doubles();
  CHECK(values(Tensor(training.total)) == std::vector<float>{10});
  training.processes.connections[1]->settle();
}

TEST_CASE("what a group has left is known to in the next one, too") {
  Training before;
  const Tensor stopped = before.run_first();
  before.lose_second();
  CHECK(error_of([&] { before.processes.connections[0]->settle(); }).starts_with(kLost));
  Training after;
  const Tensor fine = after.run_first();
  after.run_second();
  const DeviceScope device("GPU:0");
  const Function add = function([](const Tensor& x, const Tensor& y) { return x + y; });
  CHECK(error_of([&] { values(stopped + fine); }).starts_with(kLost));
  CHECK(error_of([&] { values(add(stopped, fine)); }).starts_with(kLost));
  CHECK(values(fine) == std::vector<float>{22});
  CHECK(values(Tensor(after.total)) == std::vector<float>{11});
}

TEST_CASE("loops and indices by a value that was stopped end with the group's error") {
  Training training;
  const DeviceScope device("GPU:0");
  const Function counts_down = function([](const Tensor& x) {
    using Inputs = std::vector<Tensor>;
    return ops::while_loop([](const Inputs& y) { return ops::not_equal(ops::sum(y[0]), 0.0f); },
                           [](const Inputs& y) { return Inputs{y[0] - 1.0f}; }, Inputs{x})[0];
  });
  const Function takes = function([](const Tensor& x) {
    return ops::take(Tensor::from<float>({1, 2, 3}), ops::cast(x, DType::Int32), 0);
  });
  const Tensor stopped = training.run_first();
  // Each function waits for the step.
  const auto waiting = [&](const Function& what) {
    return std::async(std::launch::async, [&] {
      const DeviceScope same("GPU:0");
      return error_of([&] { values(what(stopped)); });
    });
  };
  auto counted = waiting(counts_down);
  auto taken = waiting(takes);
  training.lose_second();
  CHECK(counted.get().starts_with(kLost));
  CHECK(taken.get().starts_with(kLost));
  CHECK(error_of([&] { values(takes(stopped)); }).starts_with(kLost));
}

TEST_CASE("a value that is restored when its strategy has gone stays as it is") {
  Variable total;
  {
    Training training;
    total = training.total;
    training.run_first();
    training.lose_second();
  }
  total.assign(Tensor::from<float>({5}));
  for (int i = 0; i < 2; ++i) CHECK(values(Tensor(total)) == std::vector<float>{5});
}

namespace {

// A link whose library has lost contact with another rank.
class BrokenLink : public cuda::DeviceCollectives {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  int gpu() const override { return 0; }
  void all_reduce(cuda::RuntimeStream*, std::span<const Segment>, DType, ReduceOp) override {}
  void reduce_scatter(cuda::RuntimeStream*, const void*, void*, int64_t, DType, ReduceOp) override {
  }
  void all_gather(cuda::RuntimeStream*, const void*, void*, size_t) override {}
  void broadcast(cuda::RuntimeStream*, void*, size_t, int) override {}
  void check_state() override {
    if (is_broken) throw cuda::RankUnreachable("a cable is loose");
  }
  void synchronize(const cuda::RuntimeEvent&) override {}
  void abort() override { is_aborted = true; }
  std::atomic<bool> is_broken = true;
  std::atomic<bool> is_aborted = false;
};

}  // namespace

TEST_CASE("a fault that only the library knows of ends the group") {
  BrokenLink link;
  const auto process = std::make_shared<Process>(std::make_shared<Meeting>(), 0);
  cuda::RunWatch watch(cuda::simulated::simulated_runtime(), {&link}, process, kLong,
                       std::chrono::milliseconds(0));
  while (!link.is_aborted) std::this_thread::yield();
  CHECK(error_of([&] { std::rethrow_exception(watch.why_ended()); }) ==
        "Internal: a cable is loose");
}

TEST_CASE("what all processes have begun is completed where one of them takes part no more") {
  Training training;
  const Tensor sum = training.run_first();
  const Tensor theirs = training.run_second();
  const auto& process = training.processes.both[0];
  process->end(process->lost(), Ending::Completing);
  CHECK(error_of([&] { training.run_first(); }).starts_with(kLost));
  CHECK(values(sum) == std::vector<float>{22});
  CHECK(values(theirs) == std::vector<float>{11});
}

TEST_CASE("a connection that goes while a step is under way stops it") {
  Training training;
  const Tensor stopped = training.run_first();
  training.first.reset();
  training.processes.connections[0].reset();
  const std::string gone =
      "Aborted: Communication between the GPUs of processes was stopped: the "
      "strategy that it belongs to is gone.";
  CHECK(error_of([&] { values(stopped); }) == gone);
  CHECK(contains(error_of([&] { values(Tensor(training.total)); }), "is gone."));
}

TEST_CASE("links are aborted where something is under way, and left where all is done") {
  use_simulated_gpus();
  cuda::Runtime& runtime = cuda::simulated::simulated_runtime();
  cuda::RuntimeStream* const stream = runtime.make_stream(0);
  void* const number = runtime.allocate(0, 256);
  for (const bool is_done : {false, true}) {
    CAPTURE(is_done);
    BrokenLink link;
    link.is_broken = false;
    const auto process = std::make_shared<Process>(std::make_shared<Meeting>(), 0);
    cuda::RunWatch watch(runtime, {&link}, process, kLong);
    const auto reached = runtime.record(stream);
    runtime.fill(stream, number, 0, 256);
    watch.follow_call(0, reached, runtime.record(stream));
    if (is_done) runtime.synchronize(stream);
    CHECK(watch.let_go() == !is_done);
    CHECK(link.is_aborted == !is_done);
  }
  runtime.synchronize(stream);
}

TEST_CASE("a step that waits too long for another process ends the group") {
  Training training(std::chrono::milliseconds(30));
  const Tensor stopped = training.run_first();
  CHECK(error_of([&] { values(stopped); }) ==
        "DeadlineExceeded: Collective on GPUs: the GPU of rank 0 has waited 0.03 s for those of "
        "other processes. CommunicationOptions' timeout_seconds says how long to wait.");
}

TEST_CASE("a step may compute for longer than a call of it may wait") {
  use_simulated_gpus();
  cuda::Runtime& runtime = cuda::simulated::simulated_runtime();
  const std::array gpus = {0, 1};
  const auto links = runtime.make_collectives(gpus);
  cuda::RuntimeStream* const own = runtime.make_stream(0);
  cuda::RuntimeStream* const other = runtime.make_stream(1);
  void* const number = runtime.allocate(0, 256);
  void* const others = runtime.allocate(1, 256);
  BrokenLink link;
  link.is_broken = false;
  const auto process = std::make_shared<Process>(std::make_shared<Meeting>(), 0);
  cuda::RunWatch watch(runtime, {&link}, process, std::chrono::milliseconds(1));
  // The work before the call lasts until the other GPU joins.
  links[0]->all_reduce(own, std::array{Segment{number, number, 1}}, DType::Float32, ReduceOp::Sum);
  watch.follow_call(0, runtime.record(own), runtime.record(own));
  watch.follow(runtime.record(own));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  CHECK(watch.why_ended() == nullptr);
  links[1]->all_reduce(other, std::array{Segment{others, others, 1}}, DType::Float32,
                       ReduceOp::Sum);
  runtime.synchronize(own);
  runtime.synchronize(other);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  CHECK(watch.why_ended() == nullptr);
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
  CHECK(error_of([&] { values(Tensor(taken)); }).starts_with("OutOfRange: "));
  CHECK(error_of([&] { values(Tensor(behind)); }).starts_with("FailedPrecondition: "));
}
