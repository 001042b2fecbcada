// SPDX-License-Identifier: Apache-2.0
// Addresses of tasks, and TCP connections between them.
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

  // "host:port", "[::1]:port". InvalidArgument otherwise; `where` begins the message.
  static Address parse(std::string_view text, std::string_view where);
  std::string text() const;
  // Whether it is this machine alone that reaches it: localhost, 127.0.0.0/8, ::1.
  bool is_loopback() const;
};

// What is_loopback() says of a host.
bool is_loopback_host(const std::string& host);

// A socket that listens there: on loopback for such an address, otherwise on all of the machine's.
// Where CORNU_LISTEN_FD names a socket that is bound to this port, as `cornu launch` makes one,
// that one. FailedPrecondition when the port is taken, NotFound for a host without an address.
FileDescriptor listen_on(const Address& address);

// How long to wait for another task: until then, and while it is worth waiting.
struct Patience {
  static constexpr std::chrono::milliseconds kAsks{100};
  std::chrono::steady_clock::time_point until;
  std::function<bool()> lasts = [] { return true; };
};

// Why its host has no address, and which one that is; "" where it has one. May take seconds.
std::string why_unresolved(const Address& address);

// A connection, or none when nobody answers in time; a host without an address is asked for again,
// and a warning in the end.
FileDescriptor connect_to(const Address& address, const Patience& patience);

// A connection whose other end is gone, or out of reach, ends within seconds. No delays.
void set_options(int socket);

// Who is at the other end, as text.
std::string peer_of(int socket);

}  // namespace cornu::distribute
