// SPDX-License-Identifier: Apache-2.0
// What tasks with parameter servers keep, and when they release it.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "distribute/cluster/calls.h"
#include "distribute/parameter_server/parameter_store.h"
#include "distribute/parameter_server/step_worker.h"
#include "tests/distribute/clusters.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using namespace cornu::distribute;
using test::error_of;

namespace {

// A job of one worker and one server that record what they are told to drop.
class NotingJob {
 public:
  NotingJob()
      : addresses_(test::free_addresses(2)),
        worker_(addresses_[0], {""}, addresses_[1]),
        server_(addresses_[1], {""}, addresses_[1]) {}

  SimpleClusterResolver resolver() const {
    return SimpleClusterResolver(
        ClusterSpec(
            {{"chief", {"127.0.0.1:1"}}, {"worker", {addresses_[0]}}, {"ps", {addresses_[1]}}}),
        {.task_type = "chief", .task_id = 0});
  }
  // The counts since the last call: steps and datasets, and shards and updates.
  std::string dropped() {
    return fmt::format("{} {}, {} {}", worker_.take("signatures"), worker_.take("datasets"),
                       server_.take("keys"), server_.take("updates"));
  }

 private:
  class NotingTask {
   public:
    NotingTask(const std::string& address, const CallCredentials& credentials,
               const std::string& server)
        : worker_({server}, "", credentials),
          calls_(
              Address::parse(address, "test"),
              [this](const std::string& method, const CallMessage& request) {
                return handle(method, request);
              },
              credentials) {}

    size_t take(const char* what) {
      const std::lock_guard lock(mutex_);
      return std::exchange(dropped_[what], 0);
    }

   private:
    CallMessage handle(const std::string& method, const CallMessage& request) {
      if (method == "begin") {
        is_server_ = request.json.at("type").as_string() == "ps";
      } else if (method != "leave" && method != "end") {
        note(method, request.json);
        return is_server_ ? store_.handle(method, request) : worker_.handle(method, request);
      }
      return {};
    }
    void note(const std::string& method, const Json& json) {
      if (method != "forget" && method != "drop") return;
      const std::lock_guard lock(mutex_);
      for (const char* what : {"signatures", "datasets", "keys", "updates"}) {
        if (const Json* gone = json.find(what)) dropped_[what] += gone->as_array().size();
      }
    }

    std::mutex mutex_;  // guards dropped_
    std::map<std::string, size_t> dropped_;
    std::atomic<bool> is_server_ = false;
    ParameterStore store_;
    StepWorker worker_;
    CallServer calls_;
  };

  const std::vector<std::string> addresses_;
  NotingTask worker_;
  NotingTask server_;
};

}  // namespace

TEST_CASE("what a program has no more is dropped by its tasks") {
  NotingJob job;
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const auto scope = strategy.scope();
  const auto use = [&](bool with_variable) {
    const auto dataset = coordinator.create_per_worker_dataset([] {
      return data::Dataset::from_tensor_slices(ops::ones({8, 2})).batch(2).repeat();
    });
    std::optional<Variable> sum;
    if (with_variable) sum.emplace(ops::zeros({2}), VariableOptions{.name = "sum"});
    const Function step = function([&](const Tensor& x) {
      if (sum) sum->assign_add(ops::sum(x, 0));
      return ops::sum(x);
    });
    for (int i = 0; i < 3; ++i) {
      CHECK(coordinator.schedule(step, dataset).fetch().item<float>() == 4);
    }
    CHECK(coordinator.schedule(step, ops::ones({3})).fetch().item<float>() == 3);
  };
  use(true);
  CHECK(job.dropped() == "0 0, 0 0");  // nothing has replaced it yet
  use(true);
  CHECK(job.dropped() == "2 1, 1 2");
  use(false);
  CHECK(job.dropped() == "2 1, 0 2");
  const Variable another(ops::zeros({2}), {.name = "another"});
  CHECK(job.dropped() == "0 0, 1 0");
}

TEST_CASE("a step that has ended keeps nothing of what it was run with") {
  NotingJob job;
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  const Function step = function([](const Tensor& x) { return ops::sum(x); });
  auto memory = std::make_shared<std::vector<float>>(4, 1.0f);
  const std::weak_ptr<std::vector<float>> kept = memory;
  const RemoteValue sum =
      coordinator.schedule(step, Tensor::wrap(memory->data(), {4}, DType::Float32, memory));
  memory.reset();
  CHECK(sum.fetch().item<float>() == 4);
  CHECK(kept.expired());
}

TEST_CASE("a step is known as long as one that is to be run again needs it") {
  NotingJob job;
  ParameterServerStrategy strategy({.cluster = job.resolver()});
  ClusterCoordinator coordinator(strategy);
  // More signatures than a function keeps.
  const Function step =
      function([](const Tensor& x) { return ops::sum(x); }, {.max_signatures = 1});
  for (int round = 0; round < 2; ++round) {
    for (int64_t size = 1; size < 4; ++size) {
      const Function other = function([](const Tensor& x) { return x + 1.0f; });
      CHECK(coordinator.schedule(other, Tensor(1.0f)).fetch().item<float>() == 2);
      CHECK(coordinator.schedule(step, ops::ones({size})).fetch().item<float>() == size);
      step(ops::ones({size + 10}));
    }
  }
}
