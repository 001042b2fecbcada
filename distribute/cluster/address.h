// SPDX-License-Identifier: Apache-2.0
// Task addresses and TCP connections between tasks.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "framework/io/file_descriptor.h"

namespace cornu::distribute {

struct Address {
  std::string host;
  int port = 0;

  // Parses "host:port" or "[::1]:port". Throws InvalidArgument for anything else; the message
  // starts with `where`.
  static Address parse(std::string_view text, std::string_view where);
  std::string text() const;
  // Whether only this machine can reach the address: localhost, 127.0.0.0/8, ::1.
  bool is_loopback() const;
};

// Like Address::is_loopback(), for a host name.
bool is_loopback_host(const std::string& host);

// Returns a listening socket: bound to loopback when the address is a loopback address, otherwise
// to all interfaces. If CORNU_LISTEN_FD names a socket already bound to this port, as `cornu
// launch` provides, uses that socket. Throws FailedPrecondition when the port is taken and NotFound
// when the host can't be resolved.
FileDescriptor listen_on(const Address& address);

// How long to wait for another task: until the deadline, and only while `lasts` returns true.
struct Patience {
  static constexpr std::chrono::milliseconds kAsks{100};
  std::chrono::steady_clock::time_point until;
  std::function<bool()> lasts = [] { return true; };
};

// Returns why the host can't be resolved, including its name, or "" if it can be. May take seconds.
std::string why_unresolved(const Address& address);

// Connects to the address. Returns a closed descriptor when nobody answers in time. An unresolvable
// host is looked up again until then, and finally logged as a warning.
FileDescriptor connect_to(const Address& address, const Patience& patience);

// Sets the options that break a connection within seconds once its peer is gone or unreachable, and
// disables delays (TCP_NODELAY).
void set_options(int socket);

// Returns the address of the peer as text.
std::string peer_of(int socket);

}  // namespace cornu::distribute
