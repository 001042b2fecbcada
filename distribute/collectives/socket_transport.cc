// SPDX-License-Identifier: Apache-2.0
#include "distribute/collectives/socket_transport.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "framework/core/error.h"

namespace cornu::distribute {
namespace {

constexpr size_t kBuffer = size_t{256} << 10;
static_assert(kBuffer >= Transport::kMaxWanted);

// Bytes [begin, end) have arrived from the rank and aren't consumed.
struct Peer {
  FileDescriptor socket;
  std::vector<std::byte> buffer;
  size_t begin = 0;
  size_t end = 0;
};

class SocketTransport : public Transport {
 public:
  SocketTransport(GroupMembers members, std::vector<FileDescriptor> sockets)
      : members_(std::move(members)), peers_(sockets.size()), wake_(::eventfd(0, EFD_CLOEXEC)) {
    check<ResourceExhausted>(wake_.is_open(), "Collective: no eventfd: {}.", std::strerror(errno));
    for (size_t i = 0; i < sockets.size(); ++i) {
      if (!sockets[i].is_open()) continue;
      const int flags = ::fcntl(sockets[i].get(), F_GETFL);
      ::fcntl(sockets[i].get(), F_SETFL, flags | O_NONBLOCK);
      peers_[i].socket = std::move(sockets[i]);
      peers_[i].buffer.resize(kBuffer);
    }
  }

  int rank() const override { return members_.rank; }
  int size() const override { return members_.size(); }

  size_t send(int to, std::span<const std::byte> bytes) override {
    end_.rethrow_if_set();
    const ssize_t taken = ::send(peer(to).socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return taken >= 0 ? static_cast<size_t>(taken) : nothing_now(to);
  }

  std::span<const std::byte> received(int from, size_t wanted) override {
    Peer& own = peer(from);
    if (own.end - own.begin < wanted) {
      end_.rethrow_if_set();
      if (own.begin > 0) {  // keep elements aligned: they start where the buffer does
        std::memmove(own.buffer.data(), own.buffer.data() + own.begin, own.end - own.begin);
        own.end -= own.begin;
        own.begin = 0;
      }
      own.end += take(from, std::span(own.buffer).subspan(own.end));
      if (own.end < wanted) return {};
    }
    return std::span(own.buffer).subspan(own.begin, own.end - own.begin);
  }

  void consume(int from, size_t bytes) override {
    Peer& own = peer(from);
    own.begin += bytes;
    if (own.begin == own.end) own.begin = own.end = 0;
  }

  size_t receive(int from, std::span<std::byte> bytes) override {
    end_.rethrow_if_set();
    Peer& own = peer(from);
    if (own.begin == own.end) return take(from, bytes);
    const size_t there = std::min(own.end - own.begin, bytes.size());
    std::memcpy(bytes.data(), own.buffer.data() + own.begin, there);
    consume(from, there);
    return there;
  }

  void wait(int to, int from) override {
    std::array<pollfd, 3> descriptors = {{{wake_.get(), POLLIN, 0}}};
    nfds_t count = 1;
    if (to != kNobody) descriptors[count++] = {peer(to).socket.get(), POLLOUT, 0};
    if (from != kNobody) descriptors[count++] = {peer(from).socket.get(), POLLIN, 0};
    const auto deadline = std::chrono::steady_clock::now() + members_.timeout;
    while (true) {
      end_.rethrow_if_set();
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      const int ready = ::poll(descriptors.data(), count,
                               static_cast<int>(std::clamp<int64_t>(left.count(), 0, 1'000'000)));
      if (ready < 0 && errno == EINTR) continue;
      end_.rethrow_if_set();
      if (ready != 0) return;
      if (left.count() <= 0) end_.raise(members_.waited_too_long(to, from));
    }
  }

  void abort(std::exception_ptr why) override {
    end_.set(std::move(why));
    const uint64_t one = 1;
    static_cast<void>(
        !::write(wake_.get(), &one, sizeof one));  // if it is full, the thread is awake
  }

 private:
  Peer& peer(int rank) {
    Peer& own = peers_[static_cast<size_t>(rank)];
    CORNU_ASSERT(own.socket.get(), >=, 0);
    return own;
  }

  size_t take(int from, std::span<std::byte> bytes) {
    if (bytes.empty()) return 0;
    const ssize_t came = ::recv(peer(from).socket.get(), bytes.data(), bytes.size(), 0);
    if (came == 0) end_.raise(members_.lost(from));
    return came > 0 ? static_cast<size_t>(came) : nothing_now(from);
  }

  size_t nothing_now(int rank) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      end_.raise(members_.lost(rank));
    }
    return 0;
  }

  GroupMembers members_;
  std::vector<Peer> peers_;  // by rank
  FileDescriptor wake_;
  GroupEnd end_;
};

}  // namespace

std::unique_ptr<Transport> make_socket_transport(GroupMembers members,
                                                 std::vector<FileDescriptor> sockets) {
  return std::make_unique<SocketTransport>(std::move(members), std::move(sockets));
}

}  // namespace cornu::distribute
