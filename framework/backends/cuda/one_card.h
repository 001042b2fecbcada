// SPDX-License-Identifier: Apache-2.0
// Communication between replicas of one process whose GPUs are parts of one card.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda {

// A rank for each of `size` replicas on one card. The last one to come to a call enqueues all of it
// on its own stream, behind what lies before it on the others', which go on behind it: the host
// waits for the other ranks' threads alone. Sums are made in the order of ranks, of 16-bit numbers
// in float32: the bits are those of groups in the host's memory. A rank that waits longer than the
// timeout throws DeadlineExceeded, which names those that didn't come; none captures calls.
std::vector<std::unique_ptr<DeviceCollectives>> make_one_card_collectives(
    Runtime& runtime, int gpu, int size,
    std::chrono::milliseconds timeout = std::chrono::minutes(10));

}  // namespace cornu::cuda
