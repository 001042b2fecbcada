// SPDX-License-Identifier: Apache-2.0
// Events that one worker notices and that all must act on after the same step: the bits of
// StrategyImpl::agree.
#pragma once

#include <cstdint>

namespace cornu::agreed {

// Used by fit.
inline constexpr uint32_t kInterrupt = 1;
inline constexpr uint32_t kTerminate = 2;
inline constexpr uint32_t kStopTraining = 4;
inline constexpr uint32_t kKeep = 8;     // save the state, without ending
inline constexpr uint32_t kUnkept = 16;  // a state couldn't be saved
inline constexpr uint32_t kKept = 32;    // a state has been saved
inline constexpr uint32_t kOfFit = 63;   // all of these
// Used by loops with a PreemptionCheckpointHandler: the machine is about to be shut down.
inline constexpr uint32_t kPreempted = 64;

}  // namespace cornu::agreed
