// SPDX-License-Identifier: Apache-2.0
// A network between namespaces of this machine whose links have a rate and a delay: TUN devices
// cornu0, cornu1, …, which benchmarks/scale.py moves to the workers' namespaces with the addresses
// 10.77.0.1, 10.77.0.2, …. A worker's packets leave one after another at the rate, and arrive after
// the delay; small packets, mostly acknowledgments, don't wait behind large ones, as with fair
// queues. Requires root.
//   bench_network DEVICES
// Prints "ready"; each line "BYTES_PER_SECOND MICROSECONDS" sets rate and delay (initially 0 0: no
// limit, no delay) and is answered by the number of packets forwarded so far.
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/io/file_descriptor.h"

using namespace cornu;
using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

namespace {

// How much a link may send at once after being idle for this long, as this program wakes up late.
constexpr nanoseconds kBurst = std::chrono::microseconds(100);
constexpr ssize_t kSmall = 256;  // bytes

FileDescriptor open_device(int number) {
  FileDescriptor device(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  check<FailedPrecondition>(device.is_open(), "/dev/net/tun: {}.", std::strerror(errno));
  ifreq request{};
  fmt::format_to_n(request.ifr_name, IFNAMSIZ - 1, "cornu{}", number);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  check<FailedPrecondition>(::ioctl(device.get(), TUNSETIFF, &request) == 0,
                            "device {}: {}. It needs root.", request.ifr_name,
                            std::strerror(errno));
  return device;
}

class Network {
 public:
  explicit Network(int size) {
    for (int i = 0; i < size; ++i) links_.push_back({.device = open_device(i)});
  }

  // Runs until the end of standard input.
  void run() {
    while (true) {
      const auto now = Clock::now();
      deliver(now);
      for (Link& link : links_) take(link, now);
      std::vector<pollfd> waits{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0}};
      auto until = now + std::chrono::hours(1);
      for (const Link& link : links_) {
        waits.push_back({.fd = link.device.get(), .events = POLLIN, .revents = 0});
        for (const Packets* packets : {&link.small, &link.large}) {
          if (!packets->empty()) until = std::min(until, packets->front().due);
        }
      }
      const auto left = std::max(until - Clock::now(), nanoseconds(0));
      const timespec time{.tv_sec = left / std::chrono::seconds(1),
                          .tv_nsec = (left % std::chrono::seconds(1)).count()};
      ::ppoll(waits.data(), waits.size(), &time, nullptr);
      if (waits[0].revents != 0 && !set()) return;
    }
  }

 private:
  struct Packet {
    Clock::time_point due;
    std::vector<char> bytes;
  };
  using Packets = std::deque<Packet>;  // in order of arrival
  struct Link {
    FileDescriptor device;
    Clock::time_point free_at = {};  // when all large packets have left
    Packets small = {};
    Packets large = {};
  };

  bool set() {
    std::string line;
    if (!std::getline(std::cin, line)) return false;
    double rate = 0;
    double delay = 0;
    std::istringstream(line) >> rate >> delay;
    per_byte_ = rate > 0 ? 1e9 / rate : 0;
    delay_ = nanoseconds(static_cast<int64_t>(delay * 1e3));
    std::cout << forwarded_ << std::endl;
    return true;
  }

  void take(Link& link, Clock::time_point now) {
    while (true) {
      const ssize_t size = ::read(link.device.get(), buffer_.data(), buffer_.size());
      if (size <= 0) return;
      const nanoseconds takes(static_cast<int64_t>(per_byte_ * static_cast<double>(size)));
      link.free_at = std::max(link.free_at, now - kBurst) + takes;
      const bool is_small = size <= kSmall;
      (is_small ? link.small : link.large)
          .push_back({(is_small ? now + takes : link.free_at) + delay_,
                      std::vector(buffer_.data(), buffer_.data() + size)});
    }
  }

  void deliver(Clock::time_point now) {
    for (Link& link : links_) {
      for (Packets* packets : {&link.small, &link.large}) {
        while (!packets->empty() && packets->front().due <= now) {
          forward(packets->front().bytes);
          packets->pop_front();
        }
      }
    }
  }

  // Forwards to the device of an IPv4 packet's destination; drops packets for others.
  void forward(const std::vector<char>& packet) {
    constexpr size_t kLastOfDestination = 19;
    if (packet.size() <= kLastOfDestination || packet[0] >> 4 != 4) return;
    const auto to = static_cast<size_t>(static_cast<unsigned char>(packet[kLastOfDestination]));
    if (to == 0 || to > links_.size()) return;
    forwarded_ += ::write(links_[to - 1].device.get(), packet.data(), packet.size()) > 0;
  }

  std::vector<Link> links_;
  double per_byte_ = 0;  // nanoseconds
  nanoseconds delay_{0};
  int64_t forwarded_ = 0;
  std::array<char, 1 << 16> buffer_;
};

}  // namespace

int main(int argc, char** argv) {
  const int size = argc == 2 ? std::atoi(argv[1]) : 0;
  if (size < 1 || size > 250) {
    fmt::print(stderr, "usage: bench_network DEVICES\n");
    return 2;
  }
  ::prctl(PR_SET_TIMERSLACK, 1);
  try {
    Network network(size);
    std::cout << "ready" << std::endl;
    network.run();
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
