// SPDX-License-Identifier: Apache-2.0
// SIGINT (Ctrl-C) and SIGTERM, handled by a loop between its steps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <thread>

namespace cornu {

// The exit code of a process that ended after a SIGTERM once its loops had saved their state.
// Shells and schedulers see a process killed by SIGTERM, which may be restarted to resume its work.
inline constexpr int kTerminatedExitCode = 143;

struct StopSignal {
  int number = 0;    // SIGINT or SIGTERM
  bool ends = true;  // whether the loop must end; false when the program has its own handler
  const char* name() const;
};

// While an instance is alive, the first signal of each kind is recorded instead of ending the
// process; a second one ends it immediately, as usual. A loop checks between its steps, saves its
// state, and ends. fit does so when a callback saves its state; custom loops do it like this:
//
//   StopSignals signals;
//   while (…) {
//     step();
//     if (const auto signal = signals.received()) {
//       manager.save();
//       if (signal->ends) return;
//     }
//   }
//
// After a SIGTERM, destroying the last instance flushes C's and C++'s output and ends the process
// with kTerminatedExitCode; instances of other threads block until then. (No destructors run, since
// other threads may be doing anything.) A SIGINT that came too late to be handled is raised again
// when the last instance is destroyed.
//
// A signal that the program ignores stays ignored. If the program has its own handler, that handler
// is called immediately and decides what ends: the loop sees the signal, saves its state, and
// continues. The earlier handlers are restored when the last StopSignals is destroyed, unless the
// program has installed others in the meantime. Several threads may have one instance each; an
// instance is used by one thread only.
class [[nodiscard]] StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns a signal that arrived since construction and hasn't been returned yet; SIGTERM first.
  std::optional<StopSignal> received();

 private:
  struct Board;
  std::thread::id thread_ = std::this_thread::get_id();
  std::array<uint32_t, 2> seen_{};  // number of signals of each kind that came before
};

}  // namespace cornu
