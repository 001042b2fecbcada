// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/slurm_resolver.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <string_view>

#include "distribute/cluster/fixed_resolver.h"
#include "distribute/cluster/ranked_tasks.h"
#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::distribute {
namespace {

constexpr const char* kSlurm = "SlurmClusterResolver";
constexpr size_t kMaxNodes = 100'000;

[[noreturn]] void raise_node_list(const std::string& text) {
  raise<InvalidArgument>(
      "{}: expected a list of nodes like n[001-003,7],m1 (at most {} nodes), got '{}'.", kSlurm,
      kMaxNodes, printable(text));
}

std::optional<int64_t> read_digits(std::string_view digits) {
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, number);
  const bool is_number = !digits.empty() && error == std::errc() && rest == end && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

// Expands "001-003,7" to 001, 002, 003, 7; empty when it can't be parsed.
std::vector<std::string> expand_ranges(std::string_view text) {
  std::vector<std::string> numbers;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view range = text.substr(0, comma);
    const size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::optional<int64_t> from = read_digits(first);
    const std::optional<int64_t> to =
        dash == std::string_view::npos ? from : read_digits(range.substr(dash + 1));
    if (!from || !to || *from > *to) return {};
    if (static_cast<size_t>(*to - *from) + numbers.size() >= kMaxNodes) return {};
    for (int64_t i = *from; i <= *to; ++i) {
      numbers.push_back(fmt::format("{:0{}}", i, first.size()));
    }
    if (comma == text.size()) return numbers;
    text.remove_prefix(comma + 1);
  }
}

// Expands one entry of a list, without commas outside of brackets: "rack[1-2]n[01-16]".
std::vector<std::string> expand_entry(std::string_view entry, const std::string& list) {
  std::vector<std::string> nodes = {""};
  while (!entry.empty()) {
    std::vector<std::string> parts;
    if (entry.front() == '[') {
      const size_t end = entry.find(']');
      if (end == std::string_view::npos) raise_node_list(list);
      parts = expand_ranges(entry.substr(1, end - 1));
      entry.remove_prefix(end + 1);
    } else {
      const size_t end = std::min(entry.find_first_of("[]"), entry.size());
      if (end > 0) parts = {std::string(entry.substr(0, end))};
      entry.remove_prefix(end);
    }
    if (parts.empty() || nodes.size() * parts.size() > kMaxNodes) raise_node_list(list);
    std::vector<std::string> longer;
    for (const std::string& node : nodes) {
      for (const std::string& part : parts) longer.push_back(node + part);
    }
    nodes = std::move(longer);
  }
  return nodes;
}

// Number of consecutive tasks that Slurm places on a node before it moves to the next one.
int64_t tasks_in_a_row(const ReadVariable& read) {
  const std::string distribution = read("SLURM_DISTRIBUTION").value_or("block");
  // The rest is about sockets and cores within one node.
  const std::string nodes = distribution.substr(0, distribution.find_first_of(":,"));
  if (nodes == "cyclic") return 1;
  if (nodes.starts_with("plane")) {
    if (const auto size = read_digits(std::string_view(nodes).substr(
            std::min(nodes.size(), std::string_view("plane=").size())));
        size && *size > 0) {
      return *size;
    }
    return require_number(read, "SLURM_DIST_PLANESIZE", kSlurm, 1);
  }
  check<Unimplemented>(nodes != "arbitrary",
                       "{}: expected the distribution block, cyclic or plane, got '{}'. Start the "
                       "step with one of these (srun --distribution=block), or set TF_CONFIG.",
                       kSlurm, printable(distribution));
  return INT64_MAX;
}

// Returns "host:port" for each rank.
std::vector<std::string> addresses_of_step(const ReadVariable& read, int64_t count, int64_t port) {
  const std::vector<std::string> nodes =
      expand_node_list(require_text(read, "SLURM_STEP_NODELIST", kSlurm));
  const std::vector<int64_t> tasks =
      expand_tasks_per_node(require_text(read, "SLURM_STEP_TASKS_PER_NODE", kSlurm));
  const int64_t sum = std::accumulate(tasks.begin(), tasks.end(), int64_t{0});
  check<InvalidArgument>(
      nodes.size() == tasks.size() && sum == count,
      "{}: expected as many nodes in SLURM_STEP_NODELIST as in SLURM_STEP_TASKS_PER_NODE, which "
      "have the tasks of SLURM_STEP_NUM_TASKS together: got {} nodes, {} nodes and {} tasks, and "
      "{} tasks.",
      kSlurm, nodes.size(), tasks.size(), sum, count);
  const int64_t row = tasks_in_a_row(read);
  std::vector<std::string> addresses;
  std::vector<int64_t> given(nodes.size(), 0);
  while (static_cast<int64_t>(addresses.size()) < count) {
    for (size_t node = 0; node < nodes.size(); ++node) {
      const int64_t some = std::min(row, tasks[node] - given[node]);
      for (int64_t i = 0; i < some; ++i) {
        addresses.push_back(address_on(nodes[node], port + given[node]++, kSlurm));
      }
    }
  }
  return addresses;
}

FixedCluster slurm_cluster(const SlurmClusterResolverOptions& options) {
  const int64_t count = require_number(options.read, "SLURM_STEP_NUM_TASKS", kSlurm, 1, 1'000'000);
  const int64_t rank = require_number(options.read, "SLURM_PROCID", kSlurm, 0, count - 1);
  std::map<std::string, int64_t> jobs = options.jobs;
  if (jobs.empty()) jobs["worker"] = count;
  int64_t sum = 0;
  for (const auto& [job, tasks] : jobs) {
    check<InvalidArgument>(tasks > 0 && tasks <= count - sum,
                           "{}: expected jobs with {} tasks together, as SLURM_STEP_NUM_TASKS has "
                           "it, got {} of '{}' after {} others.",
                           kSlurm, count, tasks, printable(job), sum);
    sum += tasks;
  }
  check<InvalidArgument>(
      sum == count,
      "{}: expected jobs with {} tasks together, as SLURM_STEP_NUM_TASKS has it, "
      "got {}.",
      kSlurm, count, sum);

  const int64_t port = port_base(options.port_base, options.read, kSlurm);
  const std::vector<std::string> addresses = addresses_of_step(options.read, count, port);
  FixedCluster known{.name = kSlurm, .rpc_layer = options.rpc_layer};
  std::map<std::string, ClusterSpec::Tasks> by_job;
  int64_t next = 0;
  for (const auto& [job, tasks] : jobs) {
    for (int64_t index = 0; index < tasks; ++index, ++next) {
      by_job[job].emplace(index, addresses[static_cast<size_t>(next)]);
      if (next != rank) continue;
      known.task_type = job;
      known.task_id = index;
    }
  }
  known.cluster = ClusterSpec::from_tasks(std::move(by_job));
  check_cluster(known.cluster, kSlurm);
  return known;
}

}  // namespace

std::vector<std::string> expand_node_list(const std::string& text) {
  std::vector<std::string> nodes;
  std::string_view rest = text;
  while (true) {
    size_t end = 0;
    for (bool bracketed = false; end < rest.size() && (bracketed || rest[end] != ','); ++end) {
      if (rest[end] == '[' || rest[end] == ']') bracketed = rest[end] == '[';
    }
    if (end == 0) raise_node_list(text);
    const std::vector<std::string> some = expand_entry(rest.substr(0, end), text);
    if (nodes.size() + some.size() > kMaxNodes) raise_node_list(text);
    nodes.insert(nodes.end(), some.begin(), some.end());
    if (end == rest.size()) return nodes;
    rest.remove_prefix(end + 1);
  }
}

std::vector<int64_t> expand_tasks_per_node(const std::string& text) {
  std::vector<int64_t> counts;
  std::string_view rest = text;
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = rest.substr(0, comma);
    const size_t times = entry.find("(x");
    const std::optional<int64_t> tasks = read_digits(entry.substr(0, times));
    std::optional<int64_t> nodes = 1;
    if (times != std::string_view::npos) {
      nodes = entry.back() == ')' ? read_digits(entry.substr(times + 2, entry.size() - times - 3))
                                  : std::nullopt;
    }
    check<InvalidArgument>(
        tasks && nodes && *tasks <= 1'000'000 && *nodes > 0 &&
            *nodes <= static_cast<int64_t>(kMaxNodes - counts.size()),
        "{}: expected numbers of tasks by node like 2(x3),1 (at most {} nodes), got '{}'.", kSlurm,
        kMaxNodes, printable(text));
    counts.insert(counts.end(), static_cast<size_t>(*nodes), *tasks);
    if (comma == rest.size()) return counts;
    rest.remove_prefix(comma + 1);
  }
}

SlurmClusterResolver::SlurmClusterResolver(const SlurmClusterResolverOptions& options)
    : ClusterResolver(std::make_shared<FixedResolver>(slurm_cluster(options))) {}

}  // namespace cornu::distribute
