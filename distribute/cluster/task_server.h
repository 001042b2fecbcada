// SPDX-License-Identifier: Apache-2.0
// The one port of a task: sessions over gRPC, and the connections that collectives use.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "distribute/cluster/address.h"
#include "distribute/cluster/grpc_sessions.h"

namespace cornu::distribute {

// Between whom a connection for collectives is, and in which group.
struct DataLink {
  int64_t generation = 0;
  int from = 0;  // the rank that connects
  int to = 0;
  auto operator<=>(const DataLink&) const = default;
};

// Accepts connections on a thread of its own, and looks at how each begins: HTTP/2 is a session's;
// a DataLink, signed with its group's key, is kept until its group takes it. Everything else is
// closed, with a warning that names the address. At most 256 connections may be undecided, each for
// ten seconds.
class TaskServer {
 public:
  // FailedPrecondition when the port is taken.
  TaskServer(const Address& address, SessionServer::Accept accept);
  ~TaskServer();
  TaskServer(const TaskServer&) = delete;
  TaskServer& operator=(const TaskServer&) = delete;

  // Links of this generation are signed with `key`; those of others are turned away from now on.
  void expect(int64_t generation, std::string key);
  // The link that another rank has made, waiting for it; none when it doesn't come in time.
  FileDescriptor take(const DataLink& link, const Patience& patience);

  // What begins a link's connection.
  static std::string preface(const DataLink& link, const std::string& key);

 private:
  struct Undecided {
    FileDescriptor socket;
    std::chrono::steady_clock::time_point until;
  };
  enum class Verdict { Wait, Taken, Refused };

  void serve();
  void accept_one();
  Verdict decide(FileDescriptor& socket);
  Verdict decide_link(FileDescriptor& socket, const std::string& preface);
  void wake();

  FileDescriptor listener_;
  FileDescriptor wake_;
  SessionServer sessions_;
  std::vector<Undecided> undecided_;  // the thread's own
  std::chrono::steady_clock::time_point deaf_until_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable arrived_;
  bool stops_ = false;
  int64_t generation_ = 0;
  std::string key_;
  std::map<DataLink, FileDescriptor> links_;
  std::thread thread_;
};

}  // namespace cornu::distribute
