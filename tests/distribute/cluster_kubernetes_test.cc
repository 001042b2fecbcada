// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "distribute/cluster/kubernetes_resolver.h"
#include "framework/core/strings.h"
#include "framework/io/http.h"
#include "tests/distribute/cluster_variables.h"
#include "tests/support/errors.h"
#include "tests/support/http_server.h"
#include "tests/support/scratch.h"

using namespace cornu;
using namespace cornu::distribute;
using namespace cornu::test;
using cornu::testing::HttpServer;

namespace {

// A pod that is running by default.
std::string pod(const std::string& name, const std::string& ip,
                const std::string& phase = "Running") {
  return R"({"metadata": {"name": ")" + name + R"("}, "status": {"phase": ")" + phase +
         R"(", "podIP": ")" + ip + R"("}})";
}

using Texts = std::vector<std::string>;

std::string list_of(const Texts& pods) {
  return R"({"kind": "PodList", "items": [)" + join(pods, ",") + "]}";
}

// The service account files that Kubernetes puts into a pod.
struct Account {
  Account() {
    put(folder.path("token"), "secret\n");
    put(folder.path("namespace"), "ml");
  }
  Scratch folder;
};

KubernetesClusterResolverOptions options_for(const HttpServer& server, const Account& account) {
  KubernetesClusterResolverOptions options;
  options.job_to_label_mapping = {{"worker", {"app=mnist,role=worker"}}};
  options.api_server = server.url();
  options.service_account = account.folder.path();
  options.read = reads({{"HOSTNAME", "w-10"}});
  return options;
}

constexpr const char* kWorkers =
    "/api/v1/namespaces/ml/pods?labelSelector=app%3Dmnist%2Crole%3Dworker";

std::string refused_list(const std::string& body) {
  const Account account;
  HttpServer server({{kWorkers, body}});
  return message_of<DataLoss>([&] { KubernetesClusterResolver(options_for(server, account)); });
}

}  // namespace

TEST_CASE("pods by their labels are a cluster") {
  const Account account;
  const char* others = "/api/v1/namespaces/ml/pods?labelSelector=role%3Dps";
  HttpServer server({{kWorkers, list_of({pod("w-10", "10.0.0.3"), pod("w-2", "10.0.0.2"),
                                         pod("w-1", "fd00::1")})},
                     {others, list_of({pod("p", "10.0.0.9")})}},
                    {.token = "secret"});
  auto options = options_for(server, account);
  options.job_to_label_mapping["ps"] = {"role=ps"};
  const KubernetesClusterResolver resolver(options);
  CHECK(resolver.cluster_spec() ==
        ClusterSpec({{"worker", {"[fd00::1]:8470", "10.0.0.2:8470", "10.0.0.3:8470"}},
                     {"ps", {"10.0.0.9:8470"}}}));
  CHECK(resolver.task() == Task{"worker", 2});
  CHECK(resolver.master() == "grpc://10.0.0.3:8470");
  CHECK(server.requests() == Texts{others, kWorkers});

  options.pod_name = "elsewhere";
  options.tf_server_port = 2222;
  const KubernetesClusterResolver outside(options);
  CHECK_FALSE(outside.task().has_value());
  CHECK(outside.cluster_spec().task_address("ps", 0) == "10.0.0.9:2222");
}

TEST_CASE("a pod that was started again has another address") {
  const Account account;
  const std::string pods = list_of({pod("w-1", "10.0.0.1"), pod("w-10", "10.0.0.2")});
  const ClusterSpec before({{"worker", {"10.0.0.1:8470", "10.0.0.2:8470"}}});
  const std::string moved = list_of({pod("w-1", "10.0.0.7"), pod("w-10", "10.0.0.2")});
  HttpServer server({{kWorkers, pods}}, {.later = moved});
  const KubernetesClusterResolver resolver(options_for(server, account));
  CHECK(resolver.addresses_change());
  CHECK(resolver.renewed_cluster_spec() ==
        ClusterSpec({{"worker", {"10.0.0.7:8470", "10.0.0.2:8470"}}}));
  CHECK(resolver.cluster_spec() == before);
  const std::string gone = list_of({pod("w-1", "", "Pending"), pod("w-10", "10.0.0.2")});
  HttpServer between({{kWorkers, pods}}, {.later = gone});
  const KubernetesClusterResolver waiting(options_for(between, account));
  CHECK_FALSE(waiting.renewed_cluster_spec().has_value());
}

TEST_CASE("pods that aren't there, or don't run yet") {
  const Account account;
  HttpServer none({{kWorkers, list_of({})}});
  CHECK(
      message_of<NotFound>([&] { KubernetesClusterResolver(options_for(none, account)); }) ==
      "KubernetesClusterResolver: no pod has the labels 'app=mnist,role=worker' of job 'worker'.");
  HttpServer pending({{kWorkers, list_of({pod("w-0", "10.0.0.1"), pod("w-1", "", "Pending")})}});
  CHECK(
      message_of<Unavailable>([&] { KubernetesClusterResolver(options_for(pending, account)); }) ==
      "KubernetesClusterResolver: pod 'w-1' isn't running: its phase is Pending. Try again when "
      "all pods of job 'worker' run.");
}

TEST_CASE("what an API server says by null is not there") {
  const Account account;
  const std::string nothing = R"({"kind": "PodList", "items": null})";
  HttpServer none({{kWorkers, nothing}});
  CHECK(message_of<NotFound>([&] {
          KubernetesClusterResolver(options_for(none, account));
        }).starts_with("KubernetesClusterResolver: no pod has the labels "));
  for (const char* status :
       {R"("status": null)", R"("status": {"phase": null, "podIP": "::1"})",
        R"("status": {"phase": "Running", "podIP": null})", R"("spec": null)"}) {
    CAPTURE(status);
    const std::string list =
        fmt::format(R"({{"items": [{{"metadata": {{"name": "w-0"}}, {}}}]}})", status);
    HttpServer server({{kWorkers, list}});
    CHECK(message_of<Unavailable>([&] {
            KubernetesClusterResolver(options_for(server, account));
          }).starts_with("KubernetesClusterResolver: pod 'w-0' isn't running: its phase is "));
  }
}

TEST_CASE("an API server that refuses, fails, or sends something else") {
  const Account account;
  HttpServer strict({{kWorkers, list_of({})}}, {.token = "another"});
  CHECK(message_of<FailedPrecondition>([&] {
          KubernetesClusterResolver(options_for(strict, account));
        }).find("refuses to list the pods of namespace 'ml' (status 401: )") != std::string::npos);
  HttpServer empty;
  CHECK(message_of<Unavailable>([&] {
          KubernetesClusterResolver(options_for(empty, account));
        }).ends_with("answers with status 404: "));
  for (const char* body : {"<html>", "[]", "{}", R"({"items": [{}]})", R"({"items": {}})"}) {
    CAPTURE(body);
    CHECK(refused_list(body).starts_with(
        "KubernetesClusterResolver: expected a list of pods from http://127.0.0.1:"));
  }
  auto options = options_for(empty, account);
  options.api_server = "http://127.0.0.1:1";
  CHECK(message_of<Unavailable>([&] {
          KubernetesClusterResolver{options};
        }).starts_with("http://127.0.0.1:1/api/v1/namespaces/ml/pods?labelSelector="));
  options.api_server.reset();
  CHECK(message_of<FailedPrecondition>([&] { KubernetesClusterResolver{options}; }) ==
        "KubernetesClusterResolver: the environment variable KUBERNETES_SERVICE_HOST must be set, "
        "and isn't.");
}

TEST_CASE("http_get gives any answer, within bounds") {
  HttpServer server(HttpServer::Files{{"/a", "text"}});
  const HttpAnswer found = http_get(server.url() + "a");
  CHECK(found.status == 200);
  CHECK(found.body == "text");
  CHECK(http_get(server.url() + "b").status == 404);
  CHECK(message_of<ResourceExhausted>([&] { http_get(server.url() + "a", {.most_bytes = 3}); }) ==
        server.url() + "a: the answer has more than 3 bytes.");
  CHECK(message_of<Unavailable>([&] {
          http_get("file:///etc/hostname");
        }).starts_with("file:///etc/hostname: no answer: "));
}
