// SPDX-License-Identifier: Apache-2.0
// Groups of simulated GPUs. A call lies in the streams of all ranks until one of these is waited
// for; then it is run where all of them have come to it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "framework/backends/cuda/device_collectives.h"
#include "tests/support/cuda/memory.h"

namespace cornu::cuda::simulated {

// One lock for all simulators of the process: they share what is loaded.
std::mutex& lock_of_all();
// Told when what a stream waits for may have been enqueued by another thread, or is aborted.
std::condition_variable& collectives_changed();

// A rank for each of the GPUs, whose memory outlives them. Sums are made in the order of ranks, of
// 16-bit numbers in float32.
std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(std::span<const int> gpus,
                                                                 const Memory& memory);

}  // namespace cornu::cuda::simulated
