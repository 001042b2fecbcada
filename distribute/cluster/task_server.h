// SPDX-License-Identifier: Apache-2.0
// The single port of a task: gRPC sessions and the connections used by collectives.
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

// Accepts connections on its own thread and examines how each one opens: HTTP/2 is a session; a
// DataLink, signed with its group's key, is kept until its group takes it. Everything else is
// closed and reported to `refusals`. At most 256 connections may be undecided or without a session,
// each for ten seconds; later ones have to wait.
class TaskServer {
 public:
  // With an `identity`, sessions must use TLS; with null, they must not. Throws FailedPrecondition
  // when the port is taken.
  TaskServer(const Address& address, SessionServer::Accept accept,
             std::shared_ptr<Refusals> refusals = std::make_shared<Refusals>(),
             const std::shared_ptr<const TlsIdentity>& identity = nullptr);
  ~TaskServer();
  TaskServer(const TaskServer&) = delete;
  TaskServer& operator=(const TaskServer&) = delete;

  // From now on, accepts links of this generation, signed with `key`, and rejects those of earlier
  // generations; links of later ones have to wait.
  void expect(int64_t generation, std::string key);
  // Waits for the link that another rank opens. Returns a closed descriptor when it doesn't arrive
  // in time.
  FileDescriptor take(const DataLink& link, const Patience& patience);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Undecided {
    FileDescriptor socket;
    Time until;
  };
  // A connection owned by gRPC, watched through a duplicate descriptor.
  struct Guest {
    FileDescriptor socket;
    std::string peer;
    int port = 0;      // of the peer
    bool met = false;  // it has held a session
    Time until;        // deadline while it has no session
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
  const std::shared_ptr<Sessions> sessions_;  // by connection
  const bool over_tls_;
  FileDescriptor listener_;
  FileDescriptor wake_;
  SessionServer session_server_;
  std::vector<Undecided> undecided_;  // used by the thread only, like the members up to mutex_
  std::vector<Guest> guests_;
  size_t strangers_ = 0;  // guests without a session
  Time deaf_until_;
  std::mutex mutex_;  // guards all members below
  std::condition_variable arrived_;
  bool stops_ = false;
  int64_t generation_ = 0;
  std::string key_;
  std::map<DataLink, FileDescriptor> links_;
  std::thread thread_;
};

}  // namespace cornu::distribute
