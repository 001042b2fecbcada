// SPDX-License-Identifier: Apache-2.0
// What one worker notices and all must act on after the same step: bits of StrategyImpl::agree.
#pragma once

#include <cstdint>

namespace cornu::agreed {

// Of fit.
inline constexpr uint32_t kInterrupt = 1;
inline constexpr uint32_t kTerminate = 2;
inline constexpr uint32_t kStopTraining = 4;
inline constexpr uint32_t kKeep = 8;     // a state, without ending
inline constexpr uint32_t kUnkept = 16;  // a state couldn't be written
inline constexpr uint32_t kKept = 32;    // one is written
inline constexpr uint32_t kOfFit = 63;   // all of these
// Of loops with a PreemptionCheckpointHandler: the machine ends.
inline constexpr uint32_t kPreempted = 64;

}  // namespace cornu::agreed
