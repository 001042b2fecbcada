// SPDX-License-Identifier: Apache-2.0
#include "framework/core/blocked_signals.h"

#include <initializer_list>

namespace cornu {
namespace {

thread_local int blocked_depth = 0;

sigset_t all_but_faults() {
  sigset_t set;
  sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
    sigdelset(&set, fault);
  }
  return set;
}

void block(sigset_t* before) {
  static const sigset_t kAll = all_but_faults();
  pthread_sigmask(SIG_BLOCK, &kAll, before);
}

}  // namespace

BlockedSignals::BlockedSignals() {
  if (blocked_depth++ == 0) block(&before_);
}

BlockedSignals::~BlockedSignals() {
  if (--blocked_depth == 0) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void block_signals_for_good() {
  static thread_local bool done = false;
  if (done) return;
  done = true;
  if (blocked_depth++ == 0) block(nullptr);
}

}  // namespace cornu
