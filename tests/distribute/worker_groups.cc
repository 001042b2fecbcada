// SPDX-License-Identifier: Apache-2.0
#include "tests/distribute/worker_groups.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <thread>
#include <utility>

#include "distribute/collectives/ring.h"
#include "framework/core/error.h"

namespace cornu::test {

using namespace distribute;

namespace {

GroupMembers members_of(int rank, int workers, std::chrono::milliseconds timeout) {
  GroupMembers members{.rank = rank, .addresses = {}, .timeout = timeout};
  for (int i = 0; i < workers; ++i) members.addresses.push_back(fmt::format("host{}:1", i));
  return members;
}

}  // namespace

Transports over_sockets(int workers, std::chrono::milliseconds timeout) {
  std::vector<std::vector<FileDescriptor>> sockets;
  for (int i = 0; i < workers; ++i) sockets.emplace_back(static_cast<size_t>(workers));
  for (int i = 0; i < workers; ++i) {
    for (const int k : RingCollectives::peers(i, workers)) {
      if (k < i) continue;
      int ends[2];
      REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
      sockets[static_cast<size_t>(i)][static_cast<size_t>(k)] = FileDescriptor(ends[0]);
      sockets[static_cast<size_t>(k)][static_cast<size_t>(i)] = FileDescriptor(ends[1]);
    }
  }
  Transports transports;
  for (int i = 0; i < workers; ++i) {
    transports.push_back(make_socket_transport(members_of(i, workers, timeout),
                                               std::move(sockets[static_cast<size_t>(i)])));
  }
  return transports;
}

Transports over_shared_memory(int workers, std::chrono::milliseconds timeout) {
  std::vector<std::shared_ptr<Inbox>> own;
  for (int i = 0; i < workers; ++i) {
    own.push_back(Inbox::create(workers, RingCollectives::peers(i, workers)));
  }
  Transports transports;
  for (int i = 0; i < workers; ++i) {
    std::vector<std::shared_ptr<Inbox>> inboxes(own.size());
    inboxes[static_cast<size_t>(i)] = own[static_cast<size_t>(i)];
    for (const int k : RingCollectives::peers(i, workers)) {
      inboxes[static_cast<size_t>(k)] = Inbox::open(own[static_cast<size_t>(k)]->description());
      REQUIRE(inboxes[static_cast<size_t>(k)]);
    }
    transports.push_back(
        make_shared_memory_transport(members_of(i, workers, timeout), std::move(inboxes)));
  }
  return transports;
}

Groups groups_of(Transports transports, int replicas, const Communication& communication,
                 const CollectivesOptions& options) {
  Groups groups;
  for (auto& transport : transports) {
    groups.push_back(std::make_shared<WorkerCollectives>(std::move(transport), replicas,
                                                         communication, options));
  }
  return groups;
}

void on_ranks(const Groups& groups, const std::function<void(CollectiveGroup&)>& body) {
  std::vector<std::thread> threads;
  for (const auto& group : groups) {
    for (auto& end : WorkerCollectives::ends(group)) {
      threads.emplace_back([&body, end = std::move(end)] { body(*end); });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cornu::test
