// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/cluster_spec.h"

#include <doctest/doctest.h>

#include "tests/support/errors.h"

using namespace cornu;
using namespace cornu::distribute;
using test::message_of;

namespace {

ClusterSpec with_chief() {
  return ClusterSpec({{"worker", {"b:1", "c:1"}}, {"chief", {"a:1"}}, {"ps", {"p:1", "q:1"}}});
}

ClusterSpec parse(const char* text) { return ClusterSpec::from_json(Json::parse(text)); }

}  // namespace

TEST_CASE("a cluster knows its jobs and tasks") {
  const ClusterSpec cluster = with_chief();
  CHECK(cluster.jobs() == std::vector<std::string>{"chief", "ps", "worker"});
  CHECK(cluster.num_tasks("worker") == 2);
  CHECK(cluster.task_address("worker", 1) == "c:1");
  CHECK(cluster.task_address(Task{"ps", 0}) == "p:1");
  CHECK(cluster.job_tasks("ps") == std::vector<std::string>{"p:1", "q:1"});
  CHECK(cluster.has_task({"chief", 0}));
  CHECK_FALSE(cluster.has_task({"chief", 1}));
  CHECK_FALSE(cluster.has_task({"evaluator", 0}));
  CHECK_FALSE(ClusterSpec());
}

TEST_CASE("a cluster reads the JSON that it writes") {
  const char* dense = R"({"chief": ["a:1"], "ps": ["p:1", "q:1"], "worker": ["b:1", "c:1"]})";
  CHECK(with_chief().as_json().dump() == dense);
  CHECK(parse(dense) == with_chief());
  const char* sparse = R"({"worker": {"1": "b:1", "3": "d:1"}})";
  const ClusterSpec cluster = parse(sparse);
  CHECK(cluster.as_json().dump() == sparse);
  CHECK(cluster ==
        ClusterSpec::from_tasks({{"worker", ClusterSpec::Tasks{{1, "b:1"}, {3, "d:1"}}}}));
  CHECK(cluster.task_indices("worker") == std::vector<int64_t>{1, 3});
  CHECK(cluster.job_tasks("worker") == std::vector<std::string>{"", "b:1", "", "d:1"});
  // An object with consecutive indices is a list.
  CHECK(parse(R"({"worker": {"1": "b:1", "0": "a:1"}})") ==
        ClusterSpec({{"worker", {"a:1", "b:1"}}}));
  CHECK(parse("{}") == ClusterSpec());
}

TEST_CASE("ranks: the chief first, then workers") {
  const ClusterSpec cluster = with_chief();
  CHECK(workers(cluster) == std::vector<Task>{{"chief", 0}, {"worker", 0}, {"worker", 1}});
  CHECK(worker_count(cluster, "worker") == 3);
  CHECK(id_in_cluster(cluster, {"chief", 0}) == 0);
  CHECK(id_in_cluster(cluster, {"worker", 1}) == 2);
  CHECK(is_chief(cluster, {"chief", 0}));
  CHECK_FALSE(is_chief(cluster, {"worker", 0}));
  CHECK_FALSE(is_chief(cluster, {"ps", 0}));
  CHECK(is_chief(cluster, {"evaluator", 0}));  // which needn't be in the cluster
  CHECK(worker_count(cluster, "evaluator") == 1);
  CHECK(id_in_cluster(cluster, {"evaluator", 0}) == 0);

  const ClusterSpec plain({{"worker", {"a:1", "b:1"}}});
  CHECK(is_chief(plain, {"worker", 0}));
  CHECK_FALSE(is_chief(plain, {"worker", 1}));
  CHECK(worker_count(plain, "chief") == 2);
  CHECK(is_chief(ClusterSpec(), {"worker", 5}));  // it trains alone

  const ClusterSpec sparse = ClusterSpec::from_tasks({{"worker", {{2, "c:1"}, {5, "f:1"}}}});
  CHECK(is_chief(sparse, {"worker", 2}));
  CHECK(id_in_cluster(sparse, {"worker", 5}) == 1);

  CHECK(message_of([&] {
          id_in_cluster(cluster, {"ps", 0});
        }) == "Cluster: ps 0 has no rank: only chief and workers do.");
  CHECK(message_of([&] { worker_count(cluster, "ps"); }) ==
        "Cluster: expected chief, worker or evaluator, got 'ps', which trains with no others.");
}

TEST_CASE("what isn't there is told with what is") {
  const ClusterSpec cluster = with_chief();
  CHECK(message_of<NotFound>([&] { cluster.num_tasks("evaluator"); }) ==
        "ClusterSpec: the cluster has no job 'evaluator'; it has chief, ps, worker.");
  CHECK(message_of<OutOfRange>([&] { cluster.task_address("worker", 2); }) ==
        "ClusterSpec: there is no worker 2: the job has 2 tasks, the last of index 1.");
  CHECK(message_of<NotFound>([&] { ClusterSpec().task_address("worker", 0); }) ==
        "ClusterSpec: the cluster has no job 'worker'; it has none.");
}

TEST_CASE("clusters that nobody can train on") {
  const auto wrong = [](const ClusterSpec& cluster) {
    return message_of([&] { check_cluster(cluster); });
  };
  CHECK(wrong(ClusterSpec({{"workers", {"a:1"}}})) ==
        "Cluster: unknown task type 'workers'. Did you mean 'worker'? Known: chief, worker, ps, "
        "evaluator.");
  CHECK(wrong(ClusterSpec({{"master", {"a:1"}}})) ==
        "Cluster: unknown task type 'master'. Known: chief, worker, ps, evaluator. What was called "
        "master is the chief.");
  CHECK(wrong(ClusterSpec({{"chief", {"a:1", "b:1"}}})) ==
        "Cluster: expected at most one chief, got 2.");
  CHECK(
      wrong(ClusterSpec({{"worker", {"a:1", "b:1"}}, {"ps", {"b:1"}}})) ==
      "Cluster: ps 0 and worker 1 both have the address b:1. Each task needs one of its own: give "
      "them different ports.");
  for (const char* address : {"a", "a:", ":1", "a:0", "a:65536", "a:1x", "a b:1", "::1:80", ""}) {
    CAPTURE(address);
    CHECK(wrong(ClusterSpec({{"worker", {"ok:1", address}}})) ==
          std::string("Cluster: expected the address of worker 1 as host:port, with a port from 1 "
                      "to 65535, got '") +
              address + "'.");
  }
  check_cluster(ClusterSpec({{"worker", {"[::1]:80", "10.0.0.1:65535", "n-1.svc:1"}}}));
}

TEST_CASE("a task that isn't of its cluster") {
  const ClusterSpec cluster({{"worker", {"a:1", "b:1"}}});
  CHECK(
      message_of<NotFound>([&] {
        check_task(cluster, {"chief", 0});
      }) ==
      "Cluster: this task is chief 0, but the cluster has no chief: it has worker. Name one of the "
      "cluster's tasks, or add its address.");
  CHECK(message_of<OutOfRange>([&] {
          is_chief(cluster, {"worker", 2});
        }) ==
        "Cluster: this task is worker 2, but the cluster has 2 of type worker. The index of the "
        "first is 0.");
  CHECK(message_of<OutOfRange>([&] {
          id_in_cluster(cluster, {"worker", -1});
        }) ==
        "Cluster: this task is worker -1, but the cluster has 2 of type worker. The index of the "
        "first is 0.");
  CHECK(message_of<OutOfRange>([] {
          check_task(parse(R"({"worker": {"1": "b:1", "3": "d:1"}})"), {"worker", 0});
        }) ==
        "Cluster: this task is worker 0, but of that type, the cluster has worker 1 and worker 3.");
  CHECK(message_of([&] {
          check_task(cluster, {"woker", 0});
        }) ==
        "Cluster: unknown task type 'woker'. Did you mean 'worker'? Known: chief, worker, ps, "
        "evaluator.");
  check_task(cluster, {"evaluator", 3});
  check_task(ClusterSpec(), {"anything", 7});
}

TEST_CASE("JSON that is no cluster") {
  CHECK(message_of([] { parse("[]"); }) ==
        "ClusterSpec: expected the cluster as an object of lists of addresses, like {\"worker\": "
        "[\"host1:2222\", \"host2:2222\"]}, got [].");
  CHECK(
      message_of([] { parse(R"({"worker": 3})"); }) ==
      "ClusterSpec: expected the addresses of job 'worker' as a list [\"host:port\", …], or as an "
      "object {\"0\": \"host:port\", …}, got 3.");
  CHECK(message_of([] { parse(R"({"worker": ["a:1", null]})"); }) ==
        "ClusterSpec: expected the address of worker 1 as a string \"host:port\", got null.");
  CHECK(message_of([] { parse(R"({"worker": {"x": "a:1"}})"); }) ==
        "ClusterSpec: expected the index of a task of job 'worker', a number from 0 to 999999, got "
        "\"x\".");
  CHECK(message_of([] { parse(R"({"worker": {"1": "a:1", "01": "b:1"}})"); }) ==
        "ClusterSpec: job 'worker' has two tasks 1.");
  CHECK(message_of([] {
          ClusterSpec::from_tasks({{"worker", ClusterSpec::Tasks{{INT64_MAX, "a:1"}}}});
        }) ==
        "ClusterSpec: expected indices of tasks from 0 to 999999, got worker 9223372036854775807.");
  CHECK(message_of([] {
          ClusterSpec({{"worker", ClusterSpec::Addresses{"a:1"}}, {"worker", {"b:1"}}});
        }) == "ClusterSpec: job 'worker' is there twice.");
}
