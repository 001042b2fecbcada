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
#include "distribute/cluster/data_link.h"
#include "distribute/cluster/grpc_sessions.h"
#include "distribute/cluster/refusals.h"
#include "distribute/cluster/tls.h"

namespace cornu::distribute {

// Accepts connections on a thread of its own, and looks at how each begins: HTTP/2 is a session's;
// a DataLink, signed with its group's key, is kept until its group takes it. Everything else is
// closed, and told to `refusals`. At most 256 connections may be undecided or without a session,
// each for ten seconds; who comes then waits.
class TaskServer {
 public:
  // `identity`: sessions come over TLS, and none otherwise; null: none does. FailedPrecondition
  // when the port is taken.
  TaskServer(const Address& address, SessionServer::Accept accept,
             std::shared_ptr<Refusals> refusals = std::make_shared<Refusals>(),
             const std::shared_ptr<const TlsIdentity>& identity = nullptr);
  ~TaskServer();
  TaskServer(const TaskServer&) = delete;
  TaskServer& operator=(const TaskServer&) = delete;

  // Links of this generation are signed with `key`; those of others are turned away from now on.
  void expect(int64_t generation, std::string key);
  // The link that another rank has made, waiting for it; none when it doesn't come in time.
  FileDescriptor take(const DataLink& link, const Patience& patience);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Undecided {
    FileDescriptor socket;
    Time until;
  };
  // A connection that gRPC has, by another descriptor of it.
  struct Guest {
    FileDescriptor socket;
    std::string peer;
    int port = 0;      // of the peer
    bool met = false;  // it has held a session
    Time until;        // without one
  };
  struct Sessions;
  enum class Verdict { Wait, Taken, Refused };

  static SessionServer::Accept counted(std::shared_ptr<Sessions> sessions,
                                       SessionServer::Accept accept);
  void serve();
  void look(Time now);
  void accept_one(Time now);
  Verdict decide(FileDescriptor& socket, std::string& why);
  Verdict decide_link(FileDescriptor& socket, std::string_view preface);
  Verdict admit_guest(FileDescriptor& socket);
  bool has_gone(Guest& guest, Time now);
  bool is_full() const;
  void wake();

  const std::shared_ptr<Refusals> refusals_;
  const std::shared_ptr<Sessions> sessions_;  // by their connections
  const bool over_tls_;
  FileDescriptor listener_;
  FileDescriptor wake_;
  SessionServer session_server_;
  std::vector<Undecided> undecided_;  // the thread's own, as are the next ones
  std::vector<Guest> guests_;
  size_t strangers_ = 0;  // guests without a session
  Time deaf_until_;
  std::mutex mutex_;  // guards all that follows
  std::condition_variable arrived_;
  bool stops_ = false;
  int64_t generation_ = 0;
  std::string key_;
  std::map<DataLink, FileDescriptor> links_;
  std::thread thread_;
};

}  // namespace cornu::distribute
