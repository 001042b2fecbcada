// SPDX-License-Identifier: Apache-2.0
// SIGINT (Ctrl-C) and SIGTERM, handled by a loop between two of its steps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <thread>

namespace cornu {

// What a process ends with that SIGTERM ended when its loops had written their states: as shells
// and schedulers see one that was killed by it, and that may be started again to go on.
inline constexpr int kTerminatedExitCode = 143;

struct StopSignal {
  int number = 0;    // SIGINT or SIGTERM
  bool ends = true;  // whether the loop has to end; not where the program has a handler of its own
  const char* name() const;
};

// While one lives, the first of each signal is noted instead of ending the process; a second one
// ends it at once, as usual. A loop asks between its steps, keeps its state, and ends. fit does so
// where a callback keeps its state; custom loops:
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
// The last one that ends after a SIGTERM ends the process, with kTerminatedExitCode, when it has
// flushed C's and C++'s output; those of other threads wait for that. (No destructors run: other
// threads may be anywhere.) A SIGINT that came too late to be handled is raised again when the last
// one ends.
//
// A signal that the program ignores stays ignored. The program's own handler is called at once, and
// is the one to say what ends: the loop sees the signal, keeps its state, and continues. Earlier
// handlers are back when the last StopSignals has ended, unless the program has set others
// meanwhile. Several threads may have one each; each is used by one thread.
class [[nodiscard]] StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // A signal that came since this was made and that it hasn't given yet; SIGTERM first.
  std::optional<StopSignal> received();

 private:
  struct Board;
  std::thread::id thread_ = std::this_thread::get_id();
  std::array<uint32_t, 2> seen_{};  // how many signals of each kind came before
};

}  // namespace cornu
