// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "distribute/cluster/call_proofs.h"
#include "distribute/cluster/calls.h"
#include "distribute/cluster/grpc_support.h"
#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

constexpr size_t kMaxThreads = 1024;
constexpr int kIdleConnection = 600'000;  // ms; callers reconnect

// Runs each task immediately on a thread of its own; idle threads are reused.
class CallThreads {
 public:
  ~CallThreads() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  // At the thread limit, or when no thread can be created, the task waits for one to become idle.
  // Returns false when there are no threads at all.
  bool run(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    if (idle_ <= tasks_.size() && threads_.size() < kMaxThreads) {
      try {
        threads_.emplace_back([this] { work(); });
      } catch (const std::system_error&) {
        if (threads_.empty()) return false;
      }
    }
    tasks_.push_back(std::move(task));
    changed_.notify_one();
    return true;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      changed_.wait(lock, [this] { return stops_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stops_ = false;
};

// Access control: makes sessions and verifies proofs. Keeps no state for callers that haven't
// presented a valid proof.
class Doorkeeper {
 public:
  explicit Doorkeeper(std::string token) : token_(std::move(token)) {}

  std::string new_session(const std::string& nonce) const {
    const std::string nonces = nonce + "." + random_hex();
    return nonces + "." + signature(secret_, nonces);
  }
  std::string proof_of(const std::string& session) const { return server_proof(token_, session); }

  bool admits(const std::string& session, const std::string& number, const std::string& proof,
              const std::string& path) {
    const size_t end = session.rfind('.');
    if (end == std::string::npos ||
        !same_signature(session.substr(end + 1), signature(secret_, session.substr(0, end))) ||
        !same_signature(proof, call_proof(session_key(token_, session), number, path))) {
      return false;
    }
    uint64_t parsed = 0;
    std::from_chars(number.data(), number.data() + number.size(), parsed);
    const std::lock_guard lock(mutex_);
    Used& used = sessions_[session];
    if (parsed <= used.all_up_to || !used.beyond.insert(parsed).second) return false;
    while (used.beyond.erase(used.all_up_to + 1) > 0) ++used.all_up_to;
    return true;
  }

 private:
  struct Used {  // call numbers, starting at 1
    uint64_t all_up_to = 0;
    std::set<uint64_t> beyond;
  };
  const std::string token_;
  const std::string secret_ = random_hex();
  std::mutex mutex_;
  std::map<std::string, Used> sessions_;
};

std::string metadata(const grpc::GenericCallbackServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  return found == context.client_metadata().end()
             ? ""
             : std::string(found->second.data(), found->second.size());
}

}  // namespace

struct CallServer::Impl : grpc::CallbackGenericService {
  Impl(const Address& address, CallServer::Handler own_handler, CallCredentials credentials)
      : handler(std::move(own_handler)),
        doorkeeper(credentials.token),
        listener(listen_on(address)),
        wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    silence_grpc();
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(-1);  // only callers with a valid proof get this far
    // Without compression, a message takes no more memory than the bytes received.
    for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
      builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
    }
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleConnection);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.RegisterCallbackGenericService(this);
    acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        server_credentials(credentials.identity));
    server = builder.BuildAndStart();
    check<Internal>(server != nullptr, "Calls: gRPC's server doesn't start.");
    accepting = std::thread([this] { accept(); });
  }

  ~Impl() override {
    const uint64_t one = 1;
    static_cast<void>(!::write(wake.get(), &one, sizeof one));
    accepting.join();
    server->Shutdown(std::chrono::system_clock::now());
    server->Wait();
  }

  void accept() {
    while (true) {
      pollfd waits[] = {{wake.get(), POLLIN, 0}, {listener.get(), POLLIN, 0}};
      ::poll(waits, 2, -1);
      if (waits[0].revents != 0) return;
      FileDescriptor socket(
          ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!socket.is_open()) {  // most likely the process has no descriptors left
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        continue;
      }
      set_options(socket.get());
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
      parameters.fd = socket.release();
      acceptor->HandleNewConnection(&parameters);
    }
  }

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

  const CallServer::Handler handler;
  Doorkeeper doorkeeper;
  FileDescriptor listener;
  FileDescriptor wake;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
  CallThreads threads;  // destroyed after the server, which no longer calls it then
  std::unique_ptr<grpc::Server> server;
  std::thread accepting;
};

namespace {

// Refuses a call.
class Refusal : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(grpc::Status status) { Finish(std::move(status)); }
  void OnDone() override { delete this; }
};

// Answers a hello; the answer is in its metadata.
class Welcome : public grpc::ServerGenericBidiReactor {
 public:
  Welcome() { StartWriteAndFinish(&empty_, grpc::WriteOptions(), grpc::Status::OK); }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer empty_ = to_bytes({});
};

// One call: reads the message, runs the handler, writes the response.
class Call : public grpc::ServerGenericBidiReactor {
 public:
  Call(CallServer::Handler handler, CallThreads& threads, std::string method)
      : handler_(std::move(handler)), threads_(threads), method_(std::move(method)) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no message"));
    const bool runs = threads_.run([this] {
      answer_ = answered();
      StartWriteAndFinish(&answer_, grpc::WriteOptions(), grpc::Status::OK);
    });
    if (!runs) Finish(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "no thread can be had"));
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer answered() const {
    try {
      CallMessage answer = handler_(method_, parse_call(request_));
      answer.json = Json::object({{"answer", answer.json}});
      return to_bytes(answer);
    } catch (const std::exception& error) {
      return to_bytes(
          {Json::object({{"code", static_cast<int64_t>(code_of(error))}, {"why", error.what()}})});
    }
  }

  CallServer::Handler handler_;
  CallThreads& threads_;
  std::string method_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer answer_;
};

}  // namespace

grpc::ServerGenericBidiReactor* CallServer::Impl::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  const std::string& path = context->method();
  if (path == kHello) {
    const std::string session = doorkeeper.new_session(metadata(*context, kNonce).substr(0, 64));
    context->AddTrailingMetadata(kSession, session);
    context->AddTrailingMetadata(kProof, doorkeeper.proof_of(session));
    return new Welcome;
  }
  if (!path.starts_with(kCallPath)) {
    return new Refusal({grpc::StatusCode::UNIMPLEMENTED,
                        "it calls " + path.substr(0, 100) + ", which tasks don't have"});
  }
  if (!doorkeeper.admits(metadata(*context, kSession), metadata(*context, kNumber),
                         metadata(*context, kProof), path)) {
    return new Refusal({grpc::StatusCode::UNAUTHENTICATED, "no session with this task"});
  }
  return new Call(handler, threads, path.substr(std::string_view(kCallPath).size()));
}

CallServer::CallServer(const Address& address, Handler handler, CallCredentials credentials)
    : impl_(std::make_unique<Impl>(address, std::move(handler), std::move(credentials))) {}

CallServer::~CallServer() = default;

}  // namespace cornu::distribute
