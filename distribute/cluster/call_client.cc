// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <mutex>
#include <optional>
#include <utility>

#include "distribute/cluster/call_proofs.h"
#include "distribute/cluster/calls.h"
#include "distribute/cluster/grpc_support.h"
#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

std::string trailing(const grpc::ClientContext& context, const char* key) {
  const auto& all = context.GetServerTrailingMetadata();
  const auto found = all.find(key);
  return found == all.end() ? "" : std::string(found->second.data(), found->second.size());
}

// A call in flight. It lives until gRPC is done with it.
struct PendingCall {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer answer;
  std::promise<CallMessage> promise;
};

CallMessage answer_of(const grpc::ByteBuffer& bytes) {
  CallMessage message = parse_call(bytes);
  if (const Json* code = message.json.find("code")) {
    std::rethrow_exception(
        error_of(static_cast<StatusCode>(code->as_int()), message.json.at("why").as_string()));
  }
  message.json = Json(message.json.at("answer"));
  return message;
}

}  // namespace

struct CallClient::Impl {
  using Stub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

  Impl(std::string own_address, CallCredentials own_credentials)
      : address(std::move(own_address)),
        credentials(std::move(own_credentials)),
        channel(open_channel(address, credentials.identity, call_arguments())),
        stub(channel) {}

  struct Session {
    std::string name;
    std::string key;
    uint64_t number = 0;
  };

  // Returns the session and the number of the next call; makes a session if there is none.
  // Callbacks take `mutex` and never wait.
  Session next() {
    if (const auto known = known_session()) return *known;
    const std::lock_guard greeting(greeting_mutex);  // only one thread says hello
    if (const auto known = known_session()) return *known;
    Session fresh = hello();
    fresh.number = 1;
    const std::lock_guard lock(mutex);
    return session = fresh;
  }
  std::optional<Session> known_session() {
    const std::lock_guard lock(mutex);
    if (session.name.empty()) return std::nullopt;
    ++session.number;
    return session;
  }

  Session hello() {
    const std::string nonce = random_hex();
    PendingCall hello;
    hello.context.AddMetadata(kNonce, nonce);
    hello.request = to_bytes({});
    std::promise<grpc::Status> ended;
    stub.UnaryCall(&hello.context, kHello, {}, &hello.request, &hello.answer,
                   [&](grpc::Status status) { ended.set_value(std::move(status)); });
    const grpc::Status status = ended.get_future().get();
    const std::string name = trailing(hello.context, kSession);
    if (!status.ok() || name.empty()) throw TaskLost(address, status.error_message());
    check<FailedPrecondition>(
        name.starts_with(nonce + ".") &&
            same_signature(trailing(hello.context, kProof), server_proof(credentials.token, name)),
        "The task at {} doesn't know this job's token. Give all tasks the same CORNU_JOB_TOKEN.",
        address);
    return {name, session_key(credentials.token, name)};
  }

  void forget(const std::string& name) {
    const std::lock_guard lock(mutex);
    if (session.name == name) session = {};
  }

  // The task was restarted and doesn't know the sessions of its previous life.
  CallMessage finish(const grpc::Status& status, const grpc::ByteBuffer& bytes,
                     const std::string& name) {
    if (status.ok()) return answer_of(bytes);
    forget(name);
    throw TaskLost(address, status.error_message());
  }

  const std::string address;
  const CallCredentials credentials;
  std::shared_ptr<grpc::Channel> channel;
  Stub stub;
  std::mutex greeting_mutex;
  std::mutex mutex;  // guards the session
  Session session;
};

CallClient::CallClient(std::string address, CallCredentials credentials)
    : impl_(std::make_shared<Impl>(std::move(address), std::move(credentials))) {}

CallClient::~CallClient() = default;

const std::string& CallClient::address() const { return impl_->address; }

CallMessage CallClient::call(const std::string& method, const CallMessage& request) {
  return start(method, request).get();
}

std::future<CallMessage> CallClient::start(const std::string& method, const CallMessage& request) {
  auto pending = std::make_shared<PendingCall>();
  std::future<CallMessage> future = pending->promise.get_future();
  try {
    pending->request = to_bytes(request);
    const Impl::Session session = impl_->next();
    const std::string path = kCallPath + method;
    const std::string number = std::to_string(session.number);
    pending->context.AddMetadata(kSession, session.name);
    pending->context.AddMetadata(kNumber, number);
    pending->context.AddMetadata(kProof, call_proof(session.key, number, path));
    impl_->stub.UnaryCall(
        &pending->context, path, {}, &pending->request, &pending->answer,
        [impl = impl_, pending, name = session.name](grpc::Status status) {
          try {
            pending->promise.set_value(impl->finish(status, pending->answer, name));
          } catch (...) {
            pending->promise.set_exception(std::current_exception());
          }
        });
  } catch (...) {
    pending->promise.set_exception(std::current_exception());
  }
  return future;
}

}  // namespace cornu::distribute
