// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/task_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "distribute/cluster/credentials.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"

namespace cornu::distribute {
namespace {

constexpr std::string_view kMagic = "CORNULNK";
constexpr std::string_view kHttp2 = "PRI * HTTP/2.0";
// "CORNULNK generation from to signature\n", with numbers of ten and twenty digits.
constexpr size_t kPreface = 8 + 1 + 20 + 1 + 10 + 1 + 10 + 1 + 64 + 1;
constexpr size_t kMostUndecided = 256;
constexpr std::chrono::seconds kTimeToDecide(10);

std::string unsigned_preface(const DataLink& link) {
  return fmt::format("{} {:020} {:010} {:010}", kMagic, link.generation, link.from, link.to);
}

}  // namespace

std::string TaskServer::preface(const DataLink& link, const std::string& key) {
  const std::string text = unsigned_preface(link);
  const std::string whole = fmt::format("{} {}\n", text, signature(key, text));
  CORNU_ASSERT(whole.size(), ==, kPreface);
  return whole;
}

TaskServer::TaskServer(const Address& address, SessionServer::Accept accept)
    : listener_(listen_on(address)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      sessions_(std::move(accept)),
      thread_([this] { serve(); }) {}

TaskServer::~TaskServer() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wake();
  thread_.join();
}

void TaskServer::wake() {
  const uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));  // full: it is awake
}

void TaskServer::expect(int64_t generation, std::string key) {
  const std::lock_guard lock(mutex_);
  generation_ = generation;
  key_ = std::move(key);
  links_.clear();
  wake();  // one that came early may be decided on now
}

FileDescriptor TaskServer::take(const DataLink& link, const Patience& patience) {
  std::unique_lock lock(mutex_);
  const auto is_there = [&] { return links_.contains(link); };
  while (!arrived_.wait_for(lock, Patience::kAsks, is_there)) {
    if (std::chrono::steady_clock::now() >= patience.until || !patience.lasts()) return {};
  }
  FileDescriptor socket = std::move(links_[link]);
  links_.erase(link);
  return socket;
}

void TaskServer::serve() {
  ::fcntl(listener_.get(), F_SETFL, ::fcntl(listener_.get(), F_GETFL) | O_NONBLOCK);
  while (true) {
    std::vector<pollfd> waits = {{wake_.get(), POLLIN, 0}};
    const bool listens = std::chrono::steady_clock::now() >= deaf_until_;
    if (listens && undecided_.size() < kMostUndecided) {
      waits.push_back({listener_.get(), POLLIN, 0});
    }
    // Undecided ones are looked at now and then: a partial preface would make poll return at once.
    ::poll(waits.data(), waits.size(), undecided_.empty() && listens ? -1 : 10);
    {
      const std::lock_guard lock(mutex_);
      if (stops_) return;
    }
    uint64_t rung = 0;
    static_cast<void>(!::read(wake_.get(), &rung, sizeof rung));
    accept_one();
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(undecided_, [&](Undecided& one) {
      const Verdict verdict = decide(one.socket);
      if (verdict == Verdict::Taken) return true;
      if (verdict == Verdict::Wait && now < one.until) return false;
      logging::warn(
          fmt::format("Cluster: turned a connection from {} away: it is no task of this job's.",
                      peer_of(one.socket.get())));
      return true;
    });
  }
}

void TaskServer::accept_one() {
  if (undecided_.size() >= kMostUndecided) return;
  FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) {  // none waits, or the process has no descriptor for it
    if (errno != EAGAIN && errno != EINTR) {
      deaf_until_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    }
    return;
  }
  set_options(socket.get());
  undecided_.push_back({std::move(socket), std::chrono::steady_clock::now() + kTimeToDecide});
}

TaskServer::Verdict TaskServer::decide(FileDescriptor& socket) {
  char begin[kPreface];
  const ssize_t came = ::recv(socket.get(), begin, sizeof begin, MSG_PEEK);
  if (came < 0) {
    return errno == EAGAIN || errno == EINTR ? Verdict::Wait : Verdict::Refused;
  }
  const std::string_view text(begin, static_cast<size_t>(came));
  const auto begins_as = [&](std::string_view expected) {
    const size_t common = std::min(expected.size(), text.size());
    return text.substr(0, common) == expected.substr(0, common);
  };
  if (came == 0 || (!begins_as(kMagic) && !begins_as(kHttp2))) return Verdict::Refused;
  if (text.size() >= kHttp2.size() && begins_as(kHttp2)) {
    sessions_.add(std::move(socket));
    return Verdict::Taken;
  }
  if (text.size() < kPreface) return Verdict::Wait;
  return decide_link(socket, std::string(text));
}

TaskServer::Verdict TaskServer::decide_link(FileDescriptor& socket, const std::string& preface) {
  const auto number = [&](size_t at, size_t digits) -> int64_t {
    int64_t value = 0;
    for (const char digit : std::string_view(preface).substr(at, digits)) {
      if (digit < '0' || digit > '9' || value > INT64_MAX / 100) return -1;
      value = value * 10 + (digit - '0');
    }
    return value;
  };
  const DataLink link{number(9, 20), static_cast<int>(number(30, 10)),
                      static_cast<int>(number(41, 10))};
  const std::lock_guard lock(mutex_);
  if (link.generation > generation_) return Verdict::Wait;  // this task will hear of it, too
  if (link.generation < std::max<int64_t>(generation_, 1) || links_.contains(link) ||
      !same_signature(preface, TaskServer::preface(link, key_))) {
    return Verdict::Refused;
  }
  std::string consumed(kPreface, '\0');
  if (::recv(socket.get(), consumed.data(), kPreface, 0) != static_cast<ssize_t>(kPreface)) {
    return Verdict::Refused;
  }
  links_[link] = std::move(socket);
  arrived_.notify_all();
  return Verdict::Taken;
}

}  // namespace cornu::distribute
