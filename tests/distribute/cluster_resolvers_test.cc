// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "distribute/cluster/simple_resolver.h"
#include "distribute/cluster/tf_config_resolver.h"
#include "distribute/cluster/union_resolver.h"
#include "tests/support/errors.h"

using namespace cornu;
using namespace cornu::distribute;
using test::message_of;

namespace {

ReadVariable tf_config(const char* text) {
  return [text](const std::string& name) -> std::optional<std::string> {
    return name == "TF_CONFIG" ? std::optional<std::string>(text) : std::nullopt;
  };
}

TFConfigClusterResolver read_tf_config(const char* text) {
  return TFConfigClusterResolver({.read = tf_config(text)});
}

std::string refused(const char* text) {
  return message_of([&] { read_tf_config(text); });
}

constexpr const char* kTwoWorkers =
    R"({"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]}, "task": {"type": "worker", "index": 1}})";

}  // namespace

TEST_CASE("TF_CONFIG says who is in the cluster and what this task is") {
  const auto resolver = read_tf_config(kTwoWorkers);
  CHECK(resolver.name() == "TFConfigClusterResolver");
  CHECK(resolver.cluster_spec() == ClusterSpec({{"worker", {"a:1", "b:1"}}, {"ps", {"c:1"}}}));
  CHECK(resolver.task_type() == "worker");
  CHECK(resolver.task_id() == 1);
  CHECK(resolver.task() == Task{"worker", 1});
  CHECK(resolver.environment() == "");
  CHECK(resolver.rpc_layer() == "");
  CHECK(resolver.master() == "b:1");
  CHECK(resolver.master(Task{"ps", 0}) == "c:1");
  CHECK(resolver.master(Task{"ps", 0}, "grpc") == "grpc://c:1");
}

TEST_CASE("TF_CONFIG: what else stands there") {
  const auto resolver = read_tf_config(
      R"({"cluster": {"chief": ["a:1"], "worker": {"3": "b:1"}}, "rpc_layer": "grpc",
          "task": {"type": "worker", "index": "3", "trial": "7"}, "environment": "cloud",
          "job": {}})");
  CHECK(resolver.cluster_spec().task_address("worker", 3) == "b:1");
  CHECK(resolver.task() == Task{"worker", 3});
  CHECK(resolver.environment() == "cloud");
  CHECK(resolver.rpc_layer() == "grpc");
  CHECK(resolver.master() == "grpc://b:1");
  CHECK(read_tf_config(R"({"session_master": "x:9"})").master() == "x:9");
  // A single task has no master.
  CHECK(
      read_tf_config(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})")
          .master() == "");
}

TEST_CASE("TF_CONFIG: options go before what it says") {
  const TFConfigClusterResolver resolver({.task_type = "ps",
                                          .task_id = 0,
                                          .rpc_layer = "grpc",
                                          .environment = "cloud",
                                          .read = tf_config(kTwoWorkers)});
  CHECK(resolver.task() == Task{"ps", 0});
  CHECK(resolver.master() == "grpc://c:1");
  CHECK(resolver.environment() == "cloud");
}

TEST_CASE("no TF_CONFIG, no cluster") {
  for (const auto& read : {ReadVariable([](const std::string&) { return std::nullopt; }),
                           tf_config(""), tf_config(" \n"), tf_config("{}")}) {
    const TFConfigClusterResolver resolver({.read = read});
    CHECK_FALSE(resolver.cluster_spec());
    CHECK_FALSE(resolver.task_type().has_value());
    CHECK_FALSE(resolver.task_id().has_value());
    CHECK_FALSE(resolver.task().has_value());
    CHECK(resolver.master() == "");
  }
  // A side-car evaluator isn't in the cluster.
  const auto evaluator = read_tf_config(
      R"({"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "evaluator", "index": 0}})");
  CHECK(evaluator.task() == Task{"evaluator", 0});
}

TEST_CASE("TF_CONFIG: errors say what stands there") {
  CHECK(
      refused("{'cluster': {}}")
          .starts_with("TF_CONFIG: expected JSON like {\"cluster\": {\"worker\": [\"host1:2222\", "
                       "\"host2:2222\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}, got "
                       "\"{'cluster': {}}\". "));
  CHECK(refused("[1]").ends_with("\"index\": 0}}, got [1]."));
  CHECK(refused(R"({"cluster": "a:1"})").ends_with("got \"a:1\"."));
  CHECK(refused(R"({"cluster": {"worker": ["a:1"]}, "task": "worker"})") ==
        "TF_CONFIG: expected \"task\" as an object like {\"type\": \"worker\", \"index\": 0}, got "
        "\"worker\".");
  CHECK(refused(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": 3, "index": 0}})") ==
        "TF_CONFIG: expected \"type\" to be a string, got 3.");
  CHECK(refused(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}})") ==
        "TF_CONFIG: expected \"index\" of \"task\" to be a whole number from 0, got \"x\".");
  CHECK(refused(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0.5}})") ==
        "TF_CONFIG: expected \"index\" of \"task\" to be a whole number from 0, got 0.5.");
  CHECK(refused(R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}})") ==
        "TF_CONFIG: expected \"task\" with both a \"type\" and an \"index\", got no \"index\".");
  CHECK(
      refused(R"({"cluster": {"worker": ["a:1", "a:1"]}})") ==
      "TF_CONFIG: worker 0 and worker 1 both have the address a:1. Each task needs one of its own: "
      "give them different ports.");
  CHECK(message_of<OutOfRange>([] {
          read_tf_config(
              R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})");
        }) ==
        "TF_CONFIG: this task is worker 1, but the cluster has 1 of type worker. The index of the "
        "first is 0.");
  CHECK(message_of<NotFound>([] {
          read_tf_config(
              R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}})");
        }).starts_with("TF_CONFIG: this task is chief 0, but the cluster has no chief"));
}

TEST_CASE("a cluster that the program names") {
  const ClusterSpec cluster({{"worker", {"a:1", "b:1"}}});
  const SimpleClusterResolver resolver(cluster, {.master = "m:1",
                                                 .task_type = "worker",
                                                 .task_id = 1,
                                                 .environment = "cloud",
                                                 .num_accelerators = {{"GPU", 2}},
                                                 .rpc_layer = "grpc"});
  CHECK(resolver.cluster_spec() == cluster);
  CHECK(resolver.task() == Task{"worker", 1});
  CHECK(resolver.environment() == "cloud");
  CHECK(resolver.num_accelerators() == std::map<std::string, int64_t>{{"GPU", 2}});
  CHECK(resolver.master() == "grpc://m:1");
  CHECK(resolver.master(Task{"worker", 0}) == "grpc://a:1");
  CHECK(resolver.master(Task{"worker", 0}, "") == "a:1");
  CHECK(SimpleClusterResolver(cluster).master() == "");
  CHECK(message_of<OutOfRange>([&] {
          SimpleClusterResolver(cluster, {.task_type = "worker", .task_id = 2});
        }).starts_with("SimpleClusterResolver: this task is worker 2"));
  CHECK(message_of<OutOfRange>([&] {
          resolver.master(Task{"worker", 7});
        }) == "ClusterSpec: there is no worker 7: the job has 2 tasks, the last of index 1.");
  CHECK(message_of<FailedPrecondition>([] { ClusterResolver().name(); }) ==
        "ClusterResolver: expected a resolver, got none.");
}

TEST_CASE("several clusters as one") {
  const SimpleClusterResolver first({{"worker", {"a:1"}}, {"ps", {"p:1"}}},
                                    {.master = "m:1",
                                     .task_type = "worker",
                                     .task_id = 0,
                                     .environment = "cloud",
                                     .num_accelerators = {{"GPU", 1}}});
  const SimpleClusterResolver second({{"worker", {"b:1", "c:1"}}}, {.environment = "other"});
  const UnionResolver both({first, second});
  CHECK(both.cluster_spec() == ClusterSpec({{"worker", {"a:1", "b:1", "c:1"}}, {"ps", {"p:1"}}}));
  CHECK(both.task() == Task{"worker", 0});
  CHECK(both.environment() == "cloud");
  CHECK(both.num_accelerators() == std::map<std::string, int64_t>{{"GPU", 1}});
  CHECK(both.master() == "m:1");
  CHECK(both.master(Task{"worker", 2}) == "c:1");
  const UnionResolver other({first, second},
                            {.task_type = "ps", .task_id = 0, .rpc_layer = "grpc"});
  CHECK(other.task() == Task{"ps", 0});
  CHECK(other.master(Task{"ps", 0}) == "grpc://p:1");

  // When indices are missing, all tasks keep theirs.
  const SimpleClusterResolver sparse(ClusterSpec::from_tasks({{"worker", {{2, "x:1"}}}}));
  CHECK(UnionResolver({second, sparse}).cluster_spec() ==
        ClusterSpec({{"worker", {"b:1", "c:1", "x:1"}}}));
  const SimpleClusterResolver clashing(ClusterSpec::from_tasks({{"worker", {{1, "x:1"}}}}));
  CHECK(message_of([&] {
          UnionResolver({second, clashing}).cluster_spec();
        }) == "UnionResolver: two of the clusters have a worker 1.");
  CHECK(message_of([] { UnionResolver({}); }) ==
        "UnionResolver: expected at least one resolver, got none.");
}
