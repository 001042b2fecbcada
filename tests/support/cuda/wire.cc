// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/wire.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <thread>
#include <utility>

#include "framework/core/error.h"

namespace cornu::cuda::simulated {
namespace {

using Header = std::array<int64_t, 3>;  // call, rank, bytes

bool read_all(int socket, void* to, size_t bytes) {
  auto* at = static_cast<std::byte*>(to);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, at, bytes, 0);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool send_all(int socket, const void* from, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(from);
  while (bytes > 0) {
    const ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return true;
}

// In Linux's abstract namespace, so nothing of it remains on disk.
sockaddr_un address_of(const std::string& name, socklen_t& size) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  check<Internal>(name.size() + 1 < sizeof(address.sun_path), "{} is too long a name.", name);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

}  // namespace

void Wire::start(std::function<void(Message)> got) {
  std::thread([self = shared_from_this(), got = std::move(got)] { self->read(got); }).detach();
  std::thread([self = shared_from_this()] { self->write(); }).detach();
}

void Wire::send(Message message) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(message));
  changed_.notify_all();
}

void Wire::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
  changed_.notify_all();
}

void Wire::read(const std::function<void(Message)>& got) {
  Header header;
  while (read_all(socket_.get(), header.data(), sizeof(header))) {
    Message message{header[0], header[1], std::vector<std::byte>(static_cast<size_t>(header[2]))};
    if (!read_all(socket_.get(), message.bytes.data(), message.bytes.size())) break;
    got(std::move(message));
  }
  close();
}

void Wire::write() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (closed_) return;
    const Message message = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const Header header{message.call, message.rank, static_cast<int64_t>(message.bytes.size())};
    const bool sent = send_all(socket_.get(), header.data(), sizeof(header)) &&
                      send_all(socket_.get(), message.bytes.data(), message.bytes.size());
    lock.lock();
    if (!sent) return;
  }
}

FileDescriptor listen_at(const std::string& name) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t size = 0;
  const sockaddr_un address = address_of(name, size);
  check<Internal>(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                      ::listen(socket.get(), SOMAXCONN) == 0,
                  "No socket of the name {} can be had.", name);
  return socket;
}

FileDescriptor connect_to(const std::string& name) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  socklen_t size = 0;
  const sockaddr_un address = address_of(name, size);
  check<Internal>(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0,
                  "There is no process with the socket {}.", name);
  return socket;
}

}  // namespace cornu::cuda::simulated
