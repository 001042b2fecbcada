// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/ranked_tasks.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <vector>

#include "distribute/cluster/address.h"
#include "framework/core/error.h"
#include "framework/core/strings.h"

namespace cornu::distribute {
namespace {

constexpr const char* kHosts = "CORNU_HOSTS";
constexpr int64_t kUsualPort = 8888;
constexpr int64_t kLastPort = 65535;

struct HostEntry {
  std::string host;
  std::optional<int64_t> port = {};
};

HostEntry parse_host(std::string_view text, const std::string& where) {
  HostEntry entry;
  const size_t bracket = text.rfind(']');
  const size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  entry.host = text.substr(0, colon);
  bool well = !entry.host.empty() && entry.host.find_first_of(" \t") == std::string::npos;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const char* end = digits.data() + digits.size();
    int64_t port = 0;
    const auto [rest, error] = std::from_chars(digits.data(), end, port);
    well = well && error == std::errc() && rest == end && port > 0 && port <= kLastPort;
    entry.port = port;
  }
  check<InvalidArgument>(well,
                         "{}: expected hosts like \"ada,bob:2222\" in the environment variable {}, "
                         "got '{}'.",
                         where, kHosts, printable(text));
  return entry;
}

std::vector<HostEntry> parse_hosts(std::string_view text, const std::string& where) {
  std::vector<HostEntry> hosts;
  while (true) {
    const size_t comma = std::min(text.find(','), text.size());
    hosts.push_back(parse_host(text.substr(0, comma), where));
    if (comma == text.size()) return hosts;
    text.remove_prefix(comma + 1);
  }
}

bool is_this_machine(const std::string& host) { return host == "[::1]" || is_loopback_host(host); }

// Number of consecutive ranks that one entry represents.
int64_t ranks_per_entry(const RankedProcess& process, size_t entries, const std::string& where) {
  const auto count = static_cast<int64_t>(entries);
  if (count == process.size) return 1;
  const int64_t local = process.local_size.value_or(0);
  const bool fits = local > 0 && count * local == process.size;
  check<InvalidArgument>(fits,
                         "{}: expected {} hosts in {}, one for each rank, or one for each machine "
                         "when all have equally many; got {} hosts, with {} ranks on this machine.",
                         where, process.size, kHosts, count,
                         local > 0 ? std::to_string(local) : "an unknown number of");
  const bool in_order = !process.local_rank || *process.local_rank == process.rank % local;
  check<InvalidArgument>(
      in_order,
      "{}: {} names machines, whose ranks have to follow each other, but rank {} "
      "is number {} of its machine. Name the host of each rank, or let {} fill "
      "one machine after the other.",
      where, kHosts, process.rank, process.local_rank.value_or(0), process.launcher);
  return local;
}

}  // namespace

std::string address_on(const std::string& host, int64_t port, const std::string& where) {
  check<InvalidArgument>(port > 0 && port <= kLastPort,
                         "{}: expected ports from 1 to {}, got {} for a task on {}. Begin with a "
                         "lower one.",
                         where, kLastPort, port, printable(host));
  const bool bare_ipv6 = host.find(':') != std::string::npos && host.front() != '[';
  return bare_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

int64_t port_base(const std::optional<int64_t>& given, const ReadVariable& read,
                  const std::string& where) {
  if (given) return *given;
  return read_number(read, "CORNU_PORT_BASE", where, 1, kLastPort).value_or(kUsualPort);
}

ClusterSpec ranked_cluster(const RankedProcess& process, const std::string& master, int64_t port,
                           const ReadVariable& read, const std::string& where) {
  const bool on_one_machine =
      process.local_size ? *process.local_size == process.size : is_this_machine(master);
  const std::optional<std::string> list = read(kHosts);
  check<FailedPrecondition>(
      on_one_machine || (list && !list->empty()),
      "{}: the {} ranks are on several machines, and {} has only the address of the first one. Set "
      "the environment variable {} to all machines, in the order of ranks: {}=host1,host2 (or "
      "host1:2222,host1:2223,…, one for each rank).",
      where, process.size, process.launcher, kHosts, kHosts);

  std::vector<HostEntry> hosts = {{master, port}};
  if (list && !list->empty()) hosts = parse_hosts(*list, where);
  const int64_t repeated =
      list && !list->empty() ? ranks_per_entry(process, hosts.size(), where) : process.size;
  ClusterSpec::Tasks tasks;
  std::map<std::string, int64_t> next_port;
  for (const HostEntry& entry : hosts) {
    for (int64_t i = 0; i < repeated; ++i) {
      int64_t& next = next_port.emplace(entry.host, port).first->second;
      const int64_t at = entry.port ? *entry.port + i : next++;
      tasks.emplace(static_cast<int64_t>(tasks.size()), address_on(entry.host, at, where));
    }
  }
  ClusterSpec cluster = ClusterSpec::from_tasks({{"worker", std::move(tasks)}});
  check_task(cluster, {"worker", process.rank}, where);
  return cluster;
}

}  // namespace cornu::distribute
