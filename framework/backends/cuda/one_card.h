// SPDX-License-Identifier: Apache-2.0
// Communication between replicas of one process whose logical GPUs are parts of one card.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

// Makes a rank for each of `size` replicas on one card. The last rank to arrive at a call enqueues
// all of it on its own stream, after the earlier work on the other ranks' streams, which then wait
// for it: the host only waits for the other ranks' threads. Sums are computed in the order of
// ranks, those of 16-bit numbers in float32: the bits are the same as for groups in host memory. A
// rank that waits longer than the timeout throws DeadlineExceeded, naming the missing ranks. Calls
// can't be captured.
std::vector<std::unique_ptr<DeviceCollectives>> make_one_card_collectives(
    Runtime& runtime, int gpu, int size,
    std::chrono::milliseconds timeout = std::chrono::minutes(10));

}  // namespace cornu::cuda
