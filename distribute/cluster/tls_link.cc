// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <future>
#include <span>
#include <thread>

#include "distribute/cluster/tls.h"
#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kAtOnce = size_t{64} << 10;  // bytes

void set_nonblocking(int file) { ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_NONBLOCK); }

// Bytes in transit: those in [first, last).
struct Pending {
  std::array<char, kAtOnce> bytes;
  size_t first = 0;
  size_t last = 0;
  bool ended = false;  // no more will come

  bool empty() const { return first == last; }
  std::span<char> rest() { return std::span(bytes).subspan(first, last - first); }
  void filled(size_t count) {
    first = 0;
    last = count;
  }
};

std::string reason_of(SSL* ssl) {
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason ? reason : "the connection has ended";
}

}  // namespace

class TlsLink::Relay {
 public:
  Relay(FileDescriptor socket, TlsRole role, const TlsIdentity& identity, const Patience& patience)
      : socket_(std::move(socket)),
        wake_(::eventfd(0, EFD_CLOEXEC)),
        ssl_(SSL_new(identity.context()), SSL_free) {
    int ends[2];
    check<Unavailable>(
        wake_.is_open() && ssl_ && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0,
        "TLS: there are no descriptors left for a connection.");
    inner_ = FileDescriptor(ends[0]);
    plain_ = FileDescriptor(ends[1]);
    set_nonblocking(socket_.get());
    set_nonblocking(inner_.get());
    SSL_set_fd(ssl_.get(), socket_.get());
    std::promise<void> shaken;
    auto result = shaken.get_future();
    thread_ = std::thread([this, role, &patience, &shaken] { run(role, patience, shaken); });
    try {
      result.get();
    } catch (...) {
      thread_.join();
      throw;
    }
  }
  ~Relay() {
    const uint64_t one = 1;
    static_cast<void>(!::write(wake_.get(), &one, sizeof one));
    thread_.join();
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  FileDescriptor take_plain() { return std::move(plain_); }

 private:
  void shake_hands(TlsRole role, const Patience& patience) {
    while (true) {
      ERR_clear_error();
      const int done = role == TlsRole::Connects ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get());
      if (done == 1) return;
      const short event = awaited(done);
      check<Unavailable>(event != 0, "TLS: no handshake with {}: {}.", peer_of(socket_.get()),
                         reason_of(ssl_.get()));
      check<Unavailable>(Clock::now() < patience.until && patience.lasts(),
                         "TLS: no handshake with {} in time.", peer_of(socket_.get()));
      pollfd wait{socket_.get(), event, 0};
      ::poll(&wait, 1, static_cast<int>(Patience::kAsks.count()));
    }
  }

  // Poll event that the last OpenSSL call is waiting for; 0 when it failed.
  short awaited(int result) {
    const int error = SSL_get_error(ssl_.get(), result);
    return error == SSL_ERROR_WANT_READ ? POLLIN : error == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
  }

  void run(TlsRole role, const Patience& patience, std::promise<void>& shaken) {
    sigset_t all;
    ::sigfillset(&all);  // OpenSSL's writes may raise SIGPIPE
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    try {
      shake_hands(role, patience);
    } catch (...) {
      return shaken.set_exception(std::current_exception());
    }
    shaken.set_value();
    relay();
    ::shutdown(inner_.get(), SHUT_RDWR);
    ::shutdown(socket_.get(), SHUT_RDWR);
  }

  void relay() {
    while (!is_over()) {
      socket_events_ = inner_events_ = 0;
      const bool sent = send();
      const bool received = receive();
      if (sent || received || is_over()) continue;
      std::array<pollfd, 3> waits = {pollfd{wake_.get(), POLLIN, 0},
                                     pollfd{socket_.get(), socket_events_, 0},
                                     pollfd{inner_.get(), inner_events_, 0}};
      // A closed end without events to wait for would make poll return immediately.
      if (socket_events_ == 0) waits[1].fd = -1;
      if (inner_events_ == 0) waits[2].fd = -1;
      ::poll(waits.data(), waits.size(), -1);
      if (waits[0].revents != 0) return;
    }
  }

  bool is_over() const { return failed_ || (in_.ended && in_.empty() && end_is_said_); }

  // Moves bytes from the plain end into TLS; returns whether any moved.
  bool send() {
    bool moved = false;
    if (out_.empty() && !out_.ended) {
      const ssize_t count = ::recv(inner_.get(), out_.bytes.data(), out_.bytes.size(), 0);
      if (count > 0) {
        out_.filled(static_cast<size_t>(count));
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        out_.ended = true;
      } else {
        inner_events_ |= POLLIN;
      }
      moved = count >= 0;
    }
    if (!out_.empty()) {
      ERR_clear_error();
      const auto rest = out_.rest();
      const int count = SSL_write(ssl_.get(), rest.data(), static_cast<int>(rest.size()));
      if (count > 0) {
        out_.first += static_cast<size_t>(count);
        return true;
      }
      wait_or_fail(count);
    }
    if (out_.ended && out_.empty() && !end_is_said_) say_end();
    return moved;
  }

  // Announces that no more bytes will come.
  void say_end() {
    ERR_clear_error();
    const int done = SSL_shutdown(ssl_.get());
    end_is_said_ = done >= 0;
    if (!end_is_said_) wait_or_fail(done);
  }

  // Moves bytes from TLS to the plain end; returns whether any moved.
  bool receive() {
    bool moved = false;
    if (in_.empty() && !in_.ended) {
      ERR_clear_error();
      const int count = SSL_read(ssl_.get(), in_.bytes.data(), static_cast<int>(in_.bytes.size()));
      if (count > 0) {
        in_.filled(static_cast<size_t>(count));
        moved = true;
      } else if (SSL_get_error(ssl_.get(), count) == SSL_ERROR_ZERO_RETURN) {
        in_.ended = true;
        ::shutdown(inner_.get(), SHUT_WR);
      } else {
        wait_or_fail(count);
      }
    }
    if (!in_.empty()) {
      const auto rest = in_.rest();
      const ssize_t count = ::send(inner_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (count > 0) {
        in_.first += static_cast<size_t>(count);
        return true;
      }
      if (errno == EAGAIN || errno == EINTR) {
        inner_events_ |= POLLOUT;
      } else {
        failed_ = true;  // nobody can read it any more
      }
    }
    return moved;
  }

  void wait_or_fail(int result) {
    const short event = awaited(result);
    socket_events_ |= event;
    failed_ = failed_ || event == 0;
  }

  FileDescriptor socket_;
  FileDescriptor wake_;
  FileDescriptor inner_;  // the other end of plain_
  FileDescriptor plain_;
  std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
  Pending out_;
  Pending in_;
  short socket_events_ = 0;
  short inner_events_ = 0;
  bool end_is_said_ = false;
  bool failed_ = false;
  std::thread thread_;
};

TlsLink::TlsLink(FileDescriptor socket, TlsRole role, const TlsIdentity& identity,
                 const Patience& patience)
    : relay_(std::make_unique<Relay>(std::move(socket), role, identity, patience)) {}

TlsLink::~TlsLink() = default;

FileDescriptor TlsLink::take_plain() { return relay_->take_plain(); }

}  // namespace cornu::distribute
