// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "distribute/cluster/port_owner.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/io/standard_files.h"

namespace cornu::distribute {
namespace {

using Infos = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// `why` is set to the reason why the host can't be resolved, or to "" on success.
Infos resolve(const Address& address, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  why = error == 0 ? ""
                   : fmt::format("the host '{}' of the task at {} has no address: {}.",
                                 address.host, address.text(), ::gai_strerror(error));
  return {found, &::freeaddrinfo};
}

Infos resolve(const Address& address) {
  std::string why;
  Infos found = resolve(address, why);
  check<NotFound>(why.empty(), "Cluster: {}", why);
  return found;
}

int port_of(int socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return -1;
  if (bound.ss_family == AF_INET) return ntohs(reinterpret_cast<sockaddr_in&>(bound).sin_port);
  if (bound.ss_family == AF_INET6) return ntohs(reinterpret_cast<sockaddr_in6&>(bound).sin6_port);
  return -1;
}

// The socket that a launcher has bound for this task.
FileDescriptor inherited(int port) {
  const char* text = std::getenv("CORNU_LISTEN_FD");
  int number = -1;
  if (!text || std::from_chars(text, text + std::strlen(text), number).ec != std::errc()) return {};
  if (number < 0 || port_of(number) != port) return {};
  // A duplicate: the next listener here needs the original, too.
  return FileDescriptor(::fcntl(number, F_DUPFD_CLOEXEC, 3));
}

FileDescriptor bound_to(const addrinfo& info) {
  FileDescriptor socket(::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  const int zero = 0;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (info.ai_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  }
  if (::bind(socket.get(), info.ai_addr, info.ai_addrlen) != 0) return {};
  return socket;
}

FileDescriptor bound_to_all(int port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<uint16_t>(port));
  addrinfo info{};
  info.ai_family = AF_INET6;
  info.ai_addr = reinterpret_cast<sockaddr*>(&six);
  info.ai_addrlen = sizeof six;
  FileDescriptor socket = bound_to(info);
  if (socket.is_open() || errno == EADDRINUSE) return socket;
  sockaddr_in four{};  // a machine without IPv6
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  info.ai_family = AF_INET;
  info.ai_addr = reinterpret_cast<sockaddr*>(&four);
  info.ai_addrlen = sizeof four;
  return bound_to(info);
}

bool becomes_writable(int socket, const Patience& patience) {
  pollfd waits{socket, POLLOUT, 0};
  while (patience.lasts()) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        patience.until - std::chrono::steady_clock::now());
    const auto next = std::clamp<int64_t>(left.count(), 0, Patience::kAsks.count());
    if (::poll(&waits, 1, static_cast<int>(next)) == 1) return true;
    if (left.count() <= 0) return false;
  }
  return false;
}

}  // namespace

Address Address::parse(std::string_view text, std::string_view where) {
  const size_t colon = text.rfind(':');
  Address address;
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, address.port);
  check<InvalidArgument>(colon != std::string_view::npos && colon > 0 && error == std::errc() &&
                             rest == end && address.port > 0 && address.port < 65536,
                         "{}: expected an address 'host:port' with a port of 1 to 65535, got '{}'.",
                         where, text);
  std::string_view host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  address.host = host;
  return address;
}

std::string Address::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

bool is_loopback_host(const std::string& host) {
  in_addr number{};  // a host name may begin like one in 127.0.0.0/8
  const bool is_number = ::inet_pton(AF_INET, host.c_str(), &number) == 1;
  return host == "localhost" || host == "::1" || (is_number && ntohl(number.s_addr) >> 24 == 127);
}

bool Address::is_loopback() const { return is_loopback_host(host); }

FileDescriptor listen_on(const Address& address) {
  occupy_standard_files();
  FileDescriptor socket = inherited(address.port);
  if (!socket.is_open()) {
    socket = address.is_loopback() ? bound_to(*resolve(address)) : bound_to_all(address.port);
  }
  if (socket.is_open() && ::listen(socket.get(), SOMAXCONN) == 0) return socket;
  const std::string why = std::strerror(errno);
  const std::string owner = port_owner(address.port);
  raise<FailedPrecondition>(
      "Cluster: this task's port {} can't be listened on: {}. {} End that one, or give this job "
      "other ports.",
      address.port, why,
      owner.empty() ? fmt::format("Another task of this job or of another one may have it (ss "
                                  "-ltnp 'sport = :{}' shows it).",
                                  address.port)
                    : fmt::format("It is {} that listens there.", owner));
}

namespace {

// Returns the addresses, or none when the name can't be resolved in time, e.g. while a machine is
// coming back.
Infos resolve_in_time(const Address& address, const Patience& patience) {
  while (true) {
    std::string why;
    Infos found = resolve(address, why);
    if (why.empty()) return found;
    if (!patience.lasts() || std::chrono::steady_clock::now() + Patience::kAsks >= patience.until) {
      logging::warn("Cluster: " + why);
      return found;
    }
    std::this_thread::sleep_for(Patience::kAsks);
  }
}

}  // namespace

std::string why_unresolved(const Address& address) {
  std::string why;
  resolve(address, why);
  return why;
}

FileDescriptor connect_to(const Address& address, const Patience& patience) {
  occupy_standard_files();
  const Infos infos = resolve_in_time(address, patience);
  for (const addrinfo* info = infos.get(); info; info = info->ai_next) {
    FileDescriptor socket(::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) continue;
    set_options(socket.get());
    if (::connect(socket.get(), info->ai_addr, info->ai_addrlen) == 0) return socket;
    if (errno != EINPROGRESS) continue;
    if (!becomes_writable(socket.get(), patience)) continue;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error == 0) return socket;
  }
  return {};
}

void set_options(int socket) {
  const int one = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  const int idle = 4;      // seconds of silence before the peer is probed
  const int interval = 2;  // seconds between probes
  const int count = 3;
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  const unsigned unanswered = 10'000;  // milliseconds
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered, sizeof unanswered);
}

std::string peer_of(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
      ::getnameinfo(reinterpret_cast<sockaddr*>(&peer), size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "an unknown address";
  }
  return fmt::format("{}:{}", host, port);
}

}  // namespace cornu::distribute
