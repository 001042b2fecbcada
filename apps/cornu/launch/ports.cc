// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/launch/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "apps/cornu/launch/error.h"

namespace apps {
namespace {

// Port 0: any free port. Returns a closed descriptor, with errno set, on failure.
cornu::FileDescriptor socket_of(int port) {
  cornu::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int one = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {};
  return socket;
}

cornu::FileDescriptor bound_socket(int port) {
  cornu::FileDescriptor socket = socket_of(port);
  if (!socket.is_open()) {
    fail_launch(
        "127.0.0.1:{}: a task's port can't be had: {}. Does a process of an earlier task still "
        "listen there? ss -ltnp 'sport = :{}' shows it",
        port, std::strerror(errno), port);
  }
  return socket;
}

}  // namespace

ReservedPort::ReservedPort() = default;

ReservedPort ReservedPort::reserve() {
  ReservedPort port;
  port.reservation_ = bound_socket(0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(port.reservation_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail_launch("127.0.0.1: no port for a task: {}", std::strerror(errno));
  }
  port.number_ = ntohs(address.sin_port);
  return port;
}

bool ReservedPort::is_free() const { return socket_of(number_).is_open(); }

cornu::FileDescriptor ReservedPort::socket() const { return bound_socket(number_); }

}  // namespace apps
