// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/kubernetes_resolver.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "distribute/cluster/fixed_resolver.h"
#include "distribute/cluster/ranked_tasks.h"
#include "framework/core/ascii.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/io/file_reader.h"
#include "framework/io/http.h"

namespace cornu::distribute {
namespace {

constexpr const char* kKubernetes = "KubernetesClusterResolver";

struct Pod {
  std::string name;
  std::string phase;
  std::string ip;
};

// Compares names, with runs of digits compared as numbers.
bool is_before(std::string_view a, std::string_view b) {
  const auto take_number = [&](std::string_view& text) {
    size_t end = 0;
    while (end < text.size() && ascii::is_digit(text[end])) ++end;
    const size_t zeros = std::min(text.find_first_not_of('0'), end);
    const std::string_view digits = text.substr(zeros, end - zeros);
    text.remove_prefix(end);
    return std::pair(digits.size(), digits);
  };
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (ascii::is_digit(a.front()) && ascii::is_digit(b.front())) {
      const auto left = take_number(a);
      const auto right = take_number(b);
      if (left != right) return left < right;
    } else {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;
}

// Reads a file of the service account, without surrounding whitespace; "" if there is none.
std::string account_file(const KubernetesClusterResolverOptions& options, const char* name) {
  const std::filesystem::path path = options.service_account / name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return "";
  FileReader file(path);
  std::string text(std::min<size_t>(file.size(), 1 << 16), '\0');
  file.read(std::as_writable_bytes(std::span(text)));
  const size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

class ApiServer {
 public:
  explicit ApiServer(const KubernetesClusterResolverOptions& options) {
    if (options.api_server) {
      url_ = *options.api_server;
    } else {
      const std::string host = require_text(options.read, "KUBERNETES_SERVICE_HOST", kKubernetes);
      const int64_t port =
          require_number(options.read, "KUBERNETES_SERVICE_PORT", kKubernetes, 1, 65535);
      url_ = "https://" + address_on(host, port, kKubernetes);
    }
    while (url_.ends_with('/')) url_.pop_back();
    const std::string token = account_file(options, "token");
    if (!token.empty() && may_have_token())
      http_.headers.push_back("Authorization: Bearer " + token);
    http_.headers.emplace_back("Accept: application/json");
    const std::filesystem::path certificates = options.service_account / "ca.crt";
    std::error_code ignored;
    if (std::filesystem::exists(certificates, ignored)) http_.ca_file = certificates.string();
    http_.through_proxy = false;

    namespace_ =
        options.namespace_name ? *options.namespace_name : account_file(options, "namespace");
    if (namespace_.empty()) namespace_ = "default";
  }

  std::vector<Pod> list_pods(const std::string& selector) const {
    const std::string url = fmt::format("{}/api/v1/namespaces/{}/pods?labelSelector={}", url_,
                                        percent_encoded(namespace_), percent_encoded(selector));
    const HttpAnswer answer = http_get(url, http_);
    check<FailedPrecondition>(
        answer.status != 401 && answer.status != 403,
        "{}: {} refuses to list the pods of namespace '{}' (status {}: {}). Give the pod's service "
        "account a role with the verb list on pods: see docs/cluster/pods.yaml.",
        kKubernetes, url_, namespace_, answer.status, printable(answer.body, 300));
    check<Unavailable>(answer.status == 200, "{}: {} answers with status {}: {}", kKubernetes, url,
                       answer.status, printable(answer.body, 300));
    try {
      return read_pods(Json::parse(answer.body));
    } catch (const Error& error) {
      raise<DataLoss>("{}: expected a list of pods from {}, got {}: {}", kKubernetes, url,
                      printable(answer.body, 200), error.what());
    }
  }

 private:
  bool may_have_token() const {
    return url_.starts_with("https://") || url_.starts_with("http://127.0.0.1:") ||
           url_.starts_with("http://localhost:") || url_.starts_with("http://[::1]:");
  }

  static std::vector<Pod> read_pods(const Json& list) {
    // Servers omit missing members or set them to null.
    const auto found = [](const Json& object, const char* key) {
      const Json* value = object.find(key);
      return value && !value->is_null() ? value : nullptr;
    };
    std::vector<Pod> pods;
    const Json& items = list["items"];
    if (items.is_null()) return pods;
    for (const Json& item : items.as_array()) {
      const Json* status = found(item, "status");
      const Json* phase = status ? found(*status, "phase") : nullptr;
      const Json* ip = status ? found(*status, "podIP") : nullptr;
      pods.push_back({.name = item["metadata"]["name"].as_string(),
                      .phase = phase ? phase->as_string() : "Unknown",
                      .ip = ip ? ip->as_string() : ""});
    }
    std::sort(pods.begin(), pods.end(),
              [](const Pod& a, const Pod& b) { return is_before(a.name, b.name); });
    return pods;
  }

  std::string url_;
  std::string namespace_;
  HttpOptions http_;
};

FixedCluster kubernetes_cluster(const KubernetesClusterResolverOptions& options) {
  const ApiServer server(options);
  std::optional<std::string> own = options.pod_name;
  if (!own) own = options.read("POD_NAME");
  if (!own) own = options.read("HOSTNAME");

  FixedCluster known{.name = kKubernetes, .rpc_layer = options.rpc_layer};
  std::map<std::string, ClusterSpec::Tasks> jobs;
  for (const auto& [job, selectors] : options.job_to_label_mapping) {
    ClusterSpec::Tasks& tasks = jobs[job];
    for (const std::string& selector : selectors) {
      const std::vector<Pod> pods = server.list_pods(selector);
      check<NotFound>(!pods.empty(), "{}: no pod has the labels '{}' of job '{}'.", kKubernetes,
                      printable(selector), printable(job));
      for (const Pod& pod : pods) {
        check<Unavailable>(
            pod.phase == "Running" && !pod.ip.empty(),
            "{}: pod '{}' isn't running: its phase is {}. Try again when all pods of "
            "job '{}' run.",
            kKubernetes, printable(pod.name), printable(pod.phase), printable(job));
        if (pod.name == own) {
          known.task_type = job;
          known.task_id = static_cast<int64_t>(tasks.size());
        }
        tasks.emplace(static_cast<int64_t>(tasks.size()),
                      address_on(pod.ip, options.tf_server_port, kKubernetes));
      }
    }
  }
  known.cluster = ClusterSpec::from_tasks(std::move(jobs));
  check_cluster(known.cluster, kKubernetes);
  return known;
}

// A restarted pod has a different address.
class KubernetesResolver : public FixedResolver {
 public:
  explicit KubernetesResolver(KubernetesClusterResolverOptions options)
      : FixedResolver(kubernetes_cluster(options)), options_(std::move(options)) {}

  bool addresses_change() const override { return true; }
  std::optional<ClusterSpec> renewed_cluster_spec() const override {
    try {
      return kubernetes_cluster(options_).cluster;
    } catch (const Error& error) {
      logging::info(fmt::format("{}", error.what()));
      return {};
    }
  }

 private:
  KubernetesClusterResolverOptions options_;
};

}  // namespace

KubernetesClusterResolver::KubernetesClusterResolver(
    const KubernetesClusterResolverOptions& options)
    : ClusterResolver(std::make_shared<KubernetesResolver>(options)) {}

}  // namespace cornu::distribute
