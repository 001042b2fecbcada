// SPDX-License-Identifier: Apache-2.0
// Calls between tasks, over gRPC: a message there, and one back, as often as one likes and several
// at once. Both ends know the job's token, and show that they do; with an identity, over TLS.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>

#include "distribute/cluster/address.h"
#include "distribute/cluster/call_message.h"
#include "distribute/cluster/tls.h"
#include "framework/core/error.h"

namespace cornu::distribute {

// A task that can't be reached, or has gone in the midst of a call.
class TaskLost : public Unavailable {
 public:
  TaskLost(std::string address, const std::string& why)
      : Unavailable(fmt::format("The task at {} can't be reached: {}", address, why)),
        address_(std::move(address)) {}
  const std::string& address() const { return address_; }

 private:
  std::string address_;
};

// What tasks show each other.
struct CallCredentials {
  std::string token;                                      // job_token(); may be empty
  std::shared_ptr<const TlsIdentity> identity = nullptr;  // null: no TLS
};

// Answers calls, each on a thread of its own; threads are used again. A caller shows with each call
// that it knows the token, before anything of its message is read: HMACs with a key that is made of
// the token and random numbers of both sides, over numbers that are used once.
class CallServer {
 public:
  // What it throws the caller gets as an error of that kind.
  using Handler = std::function<CallMessage(const std::string& method, CallMessage request)>;

  // Listens there. FailedPrecondition when the port is taken.
  CallServer(const Address& address, Handler handler, CallCredentials credentials);
  ~CallServer();  // ends calls that are under way for their callers, and waits for their handlers
  CallServer(const CallServer&) = delete;
  CallServer& operator=(const CallServer&) = delete;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// Calls one task. Thread-safe. It connects by itself, anew after the task was lost.
class CallClient {
 public:
  CallClient(std::string address, CallCredentials credentials);
  ~CallClient();
  CallClient(const CallClient&) = delete;
  CallClient& operator=(const CallClient&) = delete;

  const std::string& address() const;
  // Waits for the answer, as long as the task lives: one that stands still is lost after 20 s.
  // TaskLost; the task's error, as it was thrown there; FailedPrecondition where it doesn't know
  // the token.
  CallMessage call(const std::string& method, const CallMessage& request);
  // The same without waiting; the client must outlive it.
  std::future<CallMessage> start(const std::string& method, const CallMessage& request);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace cornu::distribute
