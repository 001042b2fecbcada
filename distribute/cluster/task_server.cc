// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/task_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "distribute/cluster/credentials.h"

namespace cornu::distribute {
namespace {

constexpr size_t kMaxUndecided = 256;
constexpr std::chrono::seconds kTimeToDecide(10);

// Parses the number after the last colon; -1 if there is none.
int port_in(std::string_view address) {
  const std::string_view digits = address.substr(address.rfind(':') + 1);
  int port = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), port);
  return port;
}

}  // namespace

// Counts sessions by peer port. (gRPC formats addresses differently. Two machines rarely use the
// same port; if they do, one of them is watched less closely.)
struct TaskServer::Sessions {
  std::mutex mutex;
  std::map<int, int> by_port;

  bool has(int port) {
    const std::lock_guard lock(mutex);
    return by_port.contains(port);
  }
  void add(int port, int count) {
    const std::lock_guard lock(mutex);
    if ((by_port[port] += count) == 0) by_port.erase(port);
  }
};

SessionServer::Accept TaskServer::counted(std::shared_ptr<Sessions> sessions,
                                          SessionServer::Accept accept) {
  return [sessions = std::move(sessions),
          accept = std::move(accept)](const std::shared_ptr<Session>& session) {
    const int port = port_in(session->peer());
    sessions->add(port, 1);
    Session::Listener listener = accept(session);
    listener.on_end = [sessions, port,
                       on_end = std::move(listener.on_end)](const std::string& why) {
      sessions->add(port, -1);
      on_end(why);
    };
    return listener;
  };
}

TaskServer::TaskServer(const Address& address, SessionServer::Accept accept,
                       std::shared_ptr<Refusals> refusals,
                       const std::shared_ptr<const TlsIdentity>& identity)
    : refusals_(std::move(refusals)),
      sessions_(std::make_shared<Sessions>()),
      over_tls_(identity != nullptr),
      listener_(listen_on(address)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      session_server_(
          counted(sessions_, std::move(accept)),
          [refusals = refusals_](const std::string& peer, const std::string& why) {
            refusals->add(peer, why);
          },
          identity),
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
  static_cast<void>(!::write(wake_.get(), &one, sizeof one));  // if it is full, the thread is awake
}

void TaskServer::expect(int64_t generation, std::string key) {
  const std::lock_guard lock(mutex_);
  generation_ = generation;
  key_ = std::move(key);
  links_.clear();
  wake();  // an early connection may be decidable now
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

bool TaskServer::is_full() const { return undecided_.size() + strangers_ >= kMaxUndecided; }

void TaskServer::serve() {
  ::fcntl(listener_.get(), F_SETFL, ::fcntl(listener_.get(), F_GETFL) | O_NONBLOCK);
  while (true) {
    std::vector<pollfd> waits = {{wake_.get(), POLLIN, 0}};
    const bool listens = std::chrono::steady_clock::now() >= deaf_until_;
    if (listens && !is_full()) waits.push_back({listener_.get(), POLLIN, 0});
    for (const Guest& guest : guests_)
      waits.push_back({guest.socket.get(), 0, 0});  // detects disconnects
    // Undecided connections are polled periodically: a partial preface would make poll return
    // immediately.
    const int time = !undecided_.empty() || !listens ? 10 : guests_.empty() ? -1 : 500;
    ::poll(waits.data(), waits.size(), time);
    {
      const std::lock_guard lock(mutex_);
      if (stops_) return;
    }
    uint64_t rung = 0;
    static_cast<void>(!::read(wake_.get(), &rung, sizeof rung));
    const auto now = std::chrono::steady_clock::now();
    if (listens) accept_one(now);
    look(now);
    refusals_->tick(now);
  }
}

void TaskServer::look(Time now) {
  std::erase_if(undecided_, [&](Undecided& one) {
    std::string why = "it is no task of this job's";
    const Verdict verdict = decide(one.socket, why);
    if (verdict == Verdict::Taken) return true;
    if (verdict == Verdict::Wait) {
      if (now < one.until) return false;
      why = "it didn't say within ten seconds what it is";
    }
    refusals_->add(peer_of(one.socket.get()), why);
    return true;
  });
  strangers_ = 0;
  std::erase_if(guests_, [&](Guest& guest) { return has_gone(guest, now); });
}

// A connection without a session is either new or a leftover; it has to end soon.
bool TaskServer::has_gone(Guest& guest, Time now) {
  const bool has_session = sessions_->has(guest.port);
  guest.met = guest.met || has_session;
  if (has_session) guest.until = now + kTimeToDecide;
  pollfd waits{guest.socket.get(), 0, 0};
  const bool gone = ::poll(&waits, 1, 0) > 0;
  if (!gone && now < guest.until) {
    strangers_ += has_session ? 0 : 1;
    return false;
  }
  ::shutdown(guest.socket.get(), SHUT_RDWR);  // makes gRPC end it, too
  if (!guest.met) refusals_->add(guest.peer, "it has begun as a session does, and holds none");
  return true;
}

void TaskServer::accept_one(Time now) {
  if (is_full()) return;
  FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) {  // none is waiting, or the process is out of descriptors
    if (errno != EAGAIN && errno != EINTR) deaf_until_ = now + std::chrono::milliseconds(100);
    return;
  }
  set_options(socket.get());
  undecided_.push_back({std::move(socket), now + kTimeToDecide});
}

TaskServer::Verdict TaskServer::decide(FileDescriptor& socket, std::string& why) {
  char begin[kPreface];
  const ssize_t came = ::recv(socket.get(), begin, sizeof begin, MSG_PEEK);
  if (came < 0) {
    return errno == EAGAIN || errno == EINTR ? Verdict::Wait : Verdict::Refused;
  }
  if (came == 0) {
    why = "it has ended before it said what it is";
    return Verdict::Refused;
  }
  const std::string_view text(begin, static_cast<size_t>(came));
  switch (opening_of(text)) {
    case Opening::Unclear:
      return Verdict::Wait;
    case Opening::Http2:
      if (!over_tls_) return admit_guest(socket);
      why = "it doesn't use TLS, as this job's tasks do (CORNU_TLS_CERT)";
      break;
    case Opening::Tls:
      if (over_tls_) return admit_guest(socket);
      why = "it uses TLS, which this job's tasks don't (CORNU_TLS_CERT)";
      break;
    case Opening::Link:
      return decide_link(socket, text);
    case Opening::Foreign:
      break;
  }
  return Verdict::Refused;
}

TaskServer::Verdict TaskServer::admit_guest(FileDescriptor& socket) {
  FileDescriptor watched(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 3));
  if (!watched.is_open()) return Verdict::Wait;  // until descriptors are available again
  const std::string peer = peer_of(socket.get());
  guests_.push_back({.socket = std::move(watched),
                     .peer = peer,
                     .port = port_in(peer),
                     .until = std::chrono::steady_clock::now() + kTimeToDecide});
  session_server_.add(std::move(socket));
  return Verdict::Taken;
}

TaskServer::Verdict TaskServer::decide_link(FileDescriptor& socket, std::string_view preface) {
  const std::optional<DataLink> link = parse_preface(preface);
  if (!link) return Verdict::Refused;
  const std::lock_guard lock(mutex_);
  if (link->generation > generation_) return Verdict::Wait;  // this task will learn of it, too
  if (link->generation < generation_ || links_.contains(*link) ||
      !same_signature(preface, link_preface(*link, key_))) {
    return Verdict::Refused;
  }
  std::string consumed(kPreface, '\0');
  if (::recv(socket.get(), consumed.data(), kPreface, 0) != static_cast<ssize_t>(kPreface)) {
    return Verdict::Refused;
  }
  links_[*link] = std::move(socket);
  arrived_.notify_all();
  return Verdict::Taken;
}

}  // namespace cornu::distribute
