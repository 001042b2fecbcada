// SPDX-License-Identifier: Apache-2.0
// Calls between tasks, over gRPC: one request message and one response, any number of times and
// concurrently. Both ends prove that they know the job's token; with an identity, calls use TLS.
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

// Thrown when a task can't be reached or disappears during a call.
class TaskLost : public Unavailable {
 public:
  TaskLost(std::string address, const std::string& why)
      : Unavailable(fmt::format("The task at {} can't be reached: {}", address, why)),
        address_(std::move(address)) {}
  const std::string& address() const { return address_; }

 private:
  std::string address_;
};

// Credentials that tasks present to each other.
struct CallCredentials {
  std::string token;                                      // job_token(); may be empty
  std::shared_ptr<const TlsIdentity> identity = nullptr;  // null: no TLS
};

// Answers calls, each on a thread of its own; idle threads are reused. With every call the caller
// proves that it knows the token before any of its message is read: by an HMAC, keyed with the
// token and random numbers from both sides, over a number that is used only once.
class CallServer {
 public:
  // Exceptions thrown by the handler reach the caller as errors of the same kind.
  using Handler = std::function<CallMessage(const std::string& method, CallMessage request)>;

  // Listens on `address`. Throws FailedPrecondition when the port is taken.
  CallServer(const Address& address, Handler handler, CallCredentials credentials);
  ~CallServer();  // ends pending calls for their callers, and waits for their handlers
  CallServer(const CallServer&) = delete;
  CallServer& operator=(const CallServer&) = delete;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// Calls one task. Thread-safe. Connects on demand, and reconnects after the task was lost.
class CallClient {
 public:
  CallClient(std::string address, CallCredentials credentials);
  ~CallClient();
  CallClient(const CallClient&) = delete;
  CallClient& operator=(const CallClient&) = delete;

  const std::string& address() const;
  // Blocks until the response arrives or the task is lost; an unresponsive task counts as lost
  // after 20 s. Throws TaskLost; the error that was thrown in the task; or FailedPrecondition when
  // the task doesn't know the token.
  CallMessage call(const std::string& method, const CallMessage& request);
  // Like call(), but non-blocking; the client must outlive the future.
  std::future<CallMessage> start(const std::string& method, const CallMessage& request);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace cornu::distribute
