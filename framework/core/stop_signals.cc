// SPDX-License-Identifier: Apache-2.0
#include "framework/core/stop_signals.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <vector>

namespace cornu {
namespace {

constexpr std::array<int, 2> kSignals = {SIGTERM, SIGINT};
constexpr size_t kTerm = 0;

// What the handler knows about a signal. It may run on any thread, at any point.
struct Noted {
  struct sigaction earlier {};
  bool installed = false;
  bool has_handler = false;          // whether `earlier` is the program's own handler
  std::atomic<uint32_t> came{0};     // total number received
  std::atomic<bool> waiting{false};  // whether some instance has yet to receive one
};
static_assert(std::atomic<uint32_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

std::array<Noted, kSignals.size()> noted;
std::atomic<int> listeners{0};

void call_earlier(const struct sigaction& earlier, int signal, siginfo_t* info, void* context) {
  // A handler that the program installed before this one may call it in turn.
  thread_local bool inside = false;
  if (inside) return;
  inside = true;
  if (earlier.sa_flags & SA_SIGINFO) {
    earlier.sa_sigaction(signal, info, context);
  } else {
    earlier.sa_handler(signal);
  }
  inside = false;
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  Noted& note = noted[signal == SIGTERM ? kTerm : 1 - kTerm];
  if (note.has_handler) {
    ++note.came;
    call_earlier(note.earlier, signal, info, context);
  } else if (listeners == 0 || note.waiting.exchange(true)) {
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // delivered when this handler returns
  } else {
    ++note.came;
  }
  errno = error;
}

bool is_own(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_signal;
}

void install(int signal, Noted& note) {
  sigaction(signal, nullptr, &note.earlier);
  const bool info = (note.earlier.sa_flags & SA_SIGINFO) != 0;
  if (is_own(note.earlier) || (!info && note.earlier.sa_handler == SIG_IGN)) return;
  note.has_handler = info || note.earlier.sa_handler != SIG_DFL;
  note.waiting = false;
  struct sigaction ours {};
  ours.sa_sigaction = on_signal;
  ours.sa_flags =
      SA_SIGINFO | (note.has_handler ? note.earlier.sa_flags & ~SA_RESETHAND : SA_RESTART);
  ours.sa_mask = note.earlier.sa_mask;
  note.installed = sigaction(signal, &ours, nullptr) == 0;
}

void uninstall(int signal, Noted& note) {
  if (!note.installed) return;
  note.installed = false;
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  if (is_own(now)) sigaction(signal, &note.earlier, nullptr);
}

[[noreturn]] void leave_process() {
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(kTerminatedExitCode);
}

}  // namespace

const char* StopSignal::name() const { return number == SIGTERM ? "SIGTERM" : "SIGINT"; }

// The listeners. Never destroyed: a thread may wait here when the process ends.
struct StopSignals::Board {
  std::mutex mutex;
  std::condition_variable never;
  std::vector<StopSignals*> members;

  static Board& get() {
    static Board* const board = new Board;
    return *board;
  }
  bool has_member_of(std::thread::id thread) const {
    return std::any_of(members.begin(), members.end(),
                       [&](const StopSignals* member) { return member->thread_ == thread; });
  }
  // Once every instance has received the last signal, the next one counts as the first again.
  void settle() {
    for (size_t i = 0; i < noted.size(); ++i) {
      bool all = true;
      for (const StopSignals* member : members) all = all && member->seen_[i] == noted[i].came;
      if (all && i != kTerm) noted[i].waiting = false;
    }
  }
};

StopSignals::StopSignals() {
  Board& board = Board::get();
  const std::lock_guard lock(board.mutex);
  if (board.members.empty()) {
    for (size_t i = 0; i < noted.size(); ++i) install(kSignals[i], noted[i]);
  }
  for (size_t i = 0; i < noted.size(); ++i) seen_[i] = noted[i].came;
  // If the process is about to end, this loop must end, too.
  if (noted[kTerm].waiting) --seen_[kTerm];
  board.members.push_back(this);
  ++listeners;
}

StopSignals::~StopSignals() {
  Board& board = Board::get();
  std::unique_lock lock(board.mutex);
  std::erase(board.members, this);
  --listeners;
  if (noted[kTerm].waiting) {
    if (board.members.empty()) leave_process();
    while (!board.has_member_of(thread_)) board.never.wait(lock);
  }
  if (!board.members.empty()) {
    board.settle();
    return;
  }
  for (size_t i = 0; i < noted.size(); ++i) uninstall(kSignals[i], noted[i]);
  const bool missed = noted[1 - kTerm].waiting && seen_[1 - kTerm] != noted[1 - kTerm].came;
  lock.unlock();
  if (missed) ::raise(SIGINT);
}

std::optional<StopSignal> StopSignals::received() {
  for (size_t i = 0; i < noted.size(); ++i) {
    if (seen_[i] == noted[i].came) continue;
    Board& board = Board::get();
    const std::lock_guard lock(board.mutex);
    seen_[i] = noted[i].came;
    board.settle();
    return StopSignal{kSignals[i], !noted[i].has_handler};
  }
  return std::nullopt;
}

}  // namespace cornu
