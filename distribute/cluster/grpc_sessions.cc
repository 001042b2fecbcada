// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/grpc_sessions.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <mutex>
#include <utility>

#include "distribute/cluster/grpc_support.h"
#include "framework/core/error.h"

namespace cornu::distribute {

namespace {

constexpr char kMethod[] = "/cornu.Cluster/Session";

// Common part of both ends. It lives until gRPC is done with it and as long as others hold it.
template <class Reactor>
class Stream : public Reactor,
               public Session,
               public std::enable_shared_from_this<Stream<Reactor>> {
 public:
  void send(const Json& message) override {
    const std::lock_guard lock(mutex_);
    if (ends_ || silent_) return;
    const std::string text = message.dump();
    const grpc::Slice slice(text);
    queue_.emplace_back(&slice, 1);
    if (queue_.size() == 1) this->StartWrite(&queue_.front());
  }

  void close(const std::string& why) override {
    const std::lock_guard lock(mutex_);
    if (ends_) return;
    ends_ = true;
    why_ = why;
    if (queue_.empty()) finish();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return reading_ended();
    try {
      listener_.on_message(parse_message(text_of(read_)));
    } catch (const Error& error) {
      close(error.what());
      return reading_ended();
    }
    this->StartRead(&read_);
  }

  void OnWriteDone(bool) override {
    const std::lock_guard lock(mutex_);
    queue_.pop_front();
    if (!queue_.empty()) {
      this->StartWrite(&queue_.front());
    } else if (ends_) {
      finish();
    }
  }

 protected:
  // Starts reading; the stream holds itself from now on.
  void begin(Session::Listener listener) {
    listener_ = std::move(listener);
    self_ = this->shared_from_this();
    this->StartRead(&read_);
  }

  // Called last: no callback follows.
  void end(const std::string& otherwise) {
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      why = why_.empty() ? otherwise : why_;
    }
    Session::Listener listener = std::exchange(listener_, {});
    if (listener.on_end) listener.on_end(why);
    self_.reset();
  }

  virtual void finish() = 0;         // with mutex_ held
  virtual void reading_ended() = 0;  // called once; no read follows

  std::mutex mutex_;
  bool ends_ = false;
  bool silent_ = false;  // nothing may be sent
  std::string why_;

 private:
  Session::Listener listener_;
  std::shared_ptr<void> self_;
  grpc::ByteBuffer read_;
  std::deque<grpc::ByteBuffer> queue_;  // the front is being written
};

class ClientStream : public Stream<grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  ClientStream(std::shared_ptr<grpc::Channel> channel, std::string address)
      : channel_(std::move(channel)), stub_(channel_), address_(std::move(address)) {}

  void start(Session::Listener listener) {
    stub_.PrepareBidiStreamingCall(&context_, kMethod, {}, this);
    AddHold();  // without it, gRPC may finish the call while another thread starts a write
    begin(std::move(listener));
    StartCall();
  }

  std::string peer() const override { return address_; }
  void OnDone(const grpc::Status& status) override {
    end(status.ok() ? "the connection was closed" : status.error_message());
  }

 private:
  void finish() override { context_.TryCancel(); }
  // The server's reason is about to arrive.
  void reading_ended() override {
    {
      const std::lock_guard lock(mutex_);
      silent_ = true;
    }
    RemoveHold();
  }

  std::shared_ptr<grpc::Channel> channel_;
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub_;
  grpc::ClientContext context_;
  std::string address_;
};

class ServerStream : public Stream<grpc::ServerGenericBidiReactor> {
 public:
  explicit ServerStream(std::string peer) : peer_(std::move(peer)) {}

  void start(Session::Listener listener) { begin(std::move(listener)); }

  std::string peer() const override { return peer_; }
  void OnCancel() override { close("the connection has ended"); }
  void OnDone() override { end("the connection has ended"); }

 private:
  void reading_ended() override { close("the connection has ended"); }
  void finish() override {
    // Trailing metadata is limited to a few kilobytes.
    Finish(grpc::Status(grpc::StatusCode::ABORTED, why_.substr(0, 1000)));
  }

  std::string peer_;
};

class Service : public grpc::CallbackGenericService {
 public:
  Service(SessionServer::Accept accept, SessionServer::Refuse refuse)
      : accept_(std::move(accept)), refuse_(std::move(refuse)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    if (context->method() != kMethod) {
      refuse_(context->peer(), "it calls " + context->method() + ", which tasks don't have");
      return grpc::CallbackGenericService::CreateReactor(context);
    }
    auto stream = std::make_shared<ServerStream>(context->peer());
    stream->start(accept_(stream));
    return stream.get();
  }

 private:
  SessionServer::Accept accept_;
  SessionServer::Refuse refuse_;
};

}  // namespace

std::shared_ptr<Session> connect_session(const std::string& address,
                                         const std::shared_ptr<const TlsIdentity>& identity,
                                         Session::Listener listener) {
  grpc::ChannelArguments arguments = channel_arguments();
  arguments.SetMaxReceiveMessageSize(kMaxMessage);
  auto channel = open_channel(address, identity, arguments);
  auto stream = std::make_shared<ClientStream>(std::move(channel), address);
  stream->start(std::move(listener));
  return stream;
}

struct SessionServer::Impl {
  Impl(Accept accept, Refuse refuse) : service(std::move(accept), std::move(refuse)) {}

  Service service;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  std::unique_ptr<grpc::Server> server;
};

SessionServer::SessionServer(Accept accept, Refuse refuse,
                             const std::shared_ptr<const TlsIdentity>& identity)
    : impl_(std::make_unique<Impl>(std::move(accept), std::move(refuse))) {
  silence_grpc();
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(kMaxToCoordinator);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);  // per connection
  builder.RegisterCallbackGenericService(&impl_->service);
  impl_->acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      server_credentials(identity));
  impl_->server = builder.BuildAndStart();
  check<Internal>(impl_->server != nullptr, "Cluster: gRPC's server doesn't start.");
}

SessionServer::~SessionServer() {
  impl_->server->Shutdown(std::chrono::system_clock::now());
  impl_->server->Wait();
}

void SessionServer::add(FileDescriptor connection) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
  parameters.fd = connection.release();
  impl_->acceptor->HandleNewConnection(&parameters);
}

}  // namespace cornu::distribute
