// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/plan.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "apps/cornu/launch/error.h"

namespace apps {
namespace {

std::string shell_quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return quoted + "'";
}

void check_host(const std::string& host) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const bool is_ipv6 = host.size() > 2 && host.front() == '[' && host.back() == ']' &&
                       host.find_first_not_of("0123456789abcdefABCDEF:.[]") == std::string::npos;
  if (is_ipv6 || (!host.empty() && host.find_first_not_of(kPlain) == std::string::npos)) return;
  throw LaunchError(fmt::format("--hosts: expected names or addresses of machines like "
                                "ada,10.0.0.2,[fd00::1], got '{}' (ports begin at --port)",
                                host),
                    2);
}

}  // namespace

std::vector<PlannedTask> plan_tasks(const LaunchOptions& options) {
  const int others =
      (options.chief ? 1 : 0) + options.parameter_servers + (options.evaluator ? 1 : 0);
  const int hosts = static_cast<int>(options.hosts.size());
  const int workers = options.workers > 0 ? options.workers : std::max(1, hosts - others);
  std::vector<PlannedTask> tasks;
  if (options.chief) tasks.push_back({"chief"});
  for (int i = 0; i < workers; ++i) tasks.push_back({"worker", i});
  for (int i = 0; i < options.parameter_servers; ++i) tasks.push_back({"ps", i});
  if (options.evaluator) tasks.push_back({"evaluator"});
  return tasks;
}

std::string tf_config(const std::vector<PlannedTask>& tasks, const PlannedTask& task) {
  nlohmann::ordered_json cluster = nlohmann::ordered_json::object();
  for (const PlannedTask& other : tasks) {
    if (!other.address.empty()) cluster[other.type].push_back(other.address);
  }
  return nlohmann::ordered_json{{"cluster", cluster},
                                {"task", {{"type", task.type}, {"index", task.index}}}}
      .dump();
}

std::string commands_for_hosts(const LaunchOptions& options) {
  std::vector<PlannedTask> tasks = plan_tasks(options);
  std::vector<std::string> host_of;
  std::map<std::string, int> next_port;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const std::string& host = options.hosts[i % options.hosts.size()];
    check_host(host);
    host_of.push_back(host);
    if (tasks[i].type == "evaluator") continue;
    const int port = next_port.emplace(host, options.port).first->second++;
    if (port > 65535)
      fail_launch("--port {}: too few ports for the tasks of {}", options.port, host);
    tasks[i].address = fmt::format("{}:{}", host, port);
  }
  std::string program;
  for (const std::string& argument : options.command) program += " " + shell_quoted(argument);

  std::string text;
  if (options.insecure) {
    text += "# Without a token: everybody who reaches the tasks' ports is trusted.\n";
  } else if (!std::getenv("CORNU_JOB_TOKEN_FILE")) {
    text +=
        "# All tasks need one token, by which they know each other: make a file of it with\n"
        "#   openssl rand -hex 32 > token\n"
        "# copy it to every machine, readable by you alone, and on each one: export "
        "CORNU_JOB_TOKEN_FILE=token\n";
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    text += fmt::format("# on {}: {}\n{}TF_CONFIG={}{}\n", host_of[i], tasks[i].name(),
                        options.insecure ? "CORNU_INSECURE=1 " : "",
                        shell_quoted(tf_config(tasks, tasks[i])), program);
  }
  return text;
}

}  // namespace apps
