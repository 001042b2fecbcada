// SPDX-License-Identifier: Apache-2.0
// Groups of simulated GPUs. A collective call stays in the streams of all ranks until the host
// waits for one of these streams; it then runs once all of them have reached it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "framework/backends/cuda/device_collectives.h"
#include "tests/support/cuda/memory.h"

namespace cornu::cuda::simulated {

// One lock for all simulators of the process, since they share the loaded kernels.
std::mutex& lock_of_all();
// Notified when another thread may have enqueued what a stream waits for, or has aborted it.
std::condition_variable& collectives_changed();

// Returns one rank per GPU; the memory must outlive the ranks. Reductions combine values in rank
// order; 16-bit floating-point numbers are accumulated in float32.
std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(std::span<const int> gpus,
                                                                 const Memory& memory);

}  // namespace cornu::cuda::simulated
