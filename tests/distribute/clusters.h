// SPDX-License-Identifier: Apache-2.0
// Clusters whose workers are threads of one process.
#pragma once

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "distribute/cluster/cluster.h"
#include "framework/io/file_descriptor.h"

namespace cornu::test {

// Addresses whose ports are unused at the moment.
inline std::vector<std::string> free_addresses(int count) {
  std::vector<FileDescriptor> sockets;
  std::vector<std::string> addresses;
  for (int i = 0; i < count; ++i) {
    sockets.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(sockets.back().get(), generic, size) == 0);
    REQUIRE(::getsockname(sockets.back().get(), generic, &size) == 0);
    addresses.push_back(fmt::format("127.0.0.1:{}", ntohs(address.sin_port)));
  }
  return addresses;
}

inline distribute::ClusterOptions options_of(int rank, const std::vector<std::string>& addresses) {
  return {.rank = rank, .addresses = addresses};
}

using GroupPtr = std::shared_ptr<distribute::WorkerCollectives>;

// Calls `body` for each worker on its own thread, and returns all results.
template <class Body>
auto on_all(std::vector<std::unique_ptr<distribute::Cluster>>& clusters, Body body) {
  using Result = decltype(body(*clusters[0]));
  std::vector<std::future<Result>> futures;
  for (auto& cluster : clusters) {
    futures.push_back(std::async(std::launch::async, [&] { return body(*cluster); }));
  }
  std::vector<Result> results;
  for (auto& future : futures) results.push_back(future.get());
  return results;
}

inline void end_all(std::vector<std::unique_ptr<distribute::Cluster>>& clusters) {
  std::vector<std::thread> threads;
  for (auto& cluster : clusters) threads.emplace_back([&cluster] { cluster.reset(); });
  for (std::thread& thread : threads) thread.join();
}

inline double sum_of_ranks(const GroupPtr& group) {
  auto ends = distribute::WorkerCollectives::ends(group);
  double value = group->worker() + 1;
  ends[0]->all_reduce(&value, &value, 1, DType::Float64, ReduceOp::Sum);
  return value;
}

}  // namespace cornu::test
