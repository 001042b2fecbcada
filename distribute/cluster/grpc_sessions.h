// SPDX-License-Identifier: Apache-2.0
// Sessions over gRPC: streams of the method /cornu.Cluster/Session, whose messages are JSON text.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "distribute/cluster/session.h"
#include "distribute/cluster/tls.h"
#include "framework/io/file_descriptor.h"

namespace cornu::distribute {

// Opens a stream to a task's server, over TLS if there is an identity. If there is no server (yet),
// the session ends with the reason.
std::shared_ptr<Session> connect_session(const std::string& address,
                                         const std::shared_ptr<const TlsIdentity>& identity,
                                         Session::Listener listener);

// Serves sessions over connections accepted elsewhere.
class SessionServer {
 public:
  // Called with each new session before its first message arrives.
  using Accept = std::function<Session::Listener(const std::shared_ptr<Session>& session)>;

  // Called for calls that don't belong to a session.
  using Refuse = std::function<void(const std::string& peer, const std::string& why)>;

  SessionServer(Accept accept, Refuse refuse, const std::shared_ptr<const TlsIdentity>& identity);
  ~SessionServer();  // ends all sessions
  SessionServer(const SessionServer&) = delete;
  SessionServer& operator=(const SessionServer&) = delete;

  // Adds a connection from which nothing has been read yet.
  void add(FileDescriptor connection);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cornu::distribute
