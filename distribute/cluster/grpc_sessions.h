// SPDX-License-Identifier: Apache-2.0
// Sessions over gRPC: streams of the method /cornu.Cluster/Session, each message JSON text.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "distribute/cluster/session.h"
#include "distribute/cluster/tls.h"
#include "framework/io/file_descriptor.h"

namespace cornu::distribute {

// A stream to a task's server, over TLS where there is an identity. Where there is none (yet), the
// session ends with the reason.
std::shared_ptr<Session> connect_session(const std::string& address,
                                         const std::shared_ptr<const TlsIdentity>& identity,
                                         Session::Listener listener);

// Takes sessions over connections that others have accepted.
class SessionServer {
 public:
  // What it does with a new session, before the first message comes.
  using Accept = std::function<Session::Listener(const std::shared_ptr<Session>& session)>;

  // Told of calls that are none of a session.
  using Refuse = std::function<void(const std::string& peer, const std::string& why)>;

  SessionServer(Accept accept, Refuse refuse, const std::shared_ptr<const TlsIdentity>& identity);
  ~SessionServer();  // ends all sessions
  SessionServer(const SessionServer&) = delete;
  SessionServer& operator=(const SessionServer&) = delete;

  // A connection of which nothing has been read.
  void add(FileDescriptor connection);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cornu::distribute
